(** * Chapter 7. Trees

    Config and files, of any depth. A component is everything at and below one name at the top of the tree; its content
    is an optional tree. The operations are those of state/tree.py: [tree_put] makes the containers on its way and fails
    below a leaf; [drop]; [prune] takes away containers that the capture saw missing and that are empty again. With
    [files] set, writing and removing fail at a directory. A capture may be of any path in the same component.

    The chapter applies chapter 1 to top names ([tree_decomposition]) and shows the hole on the four [write_file]s that
    were "proved" ([hole_passes_all_classes], [hole_furthest]). What happens inside one top name: chapters 10 to 12. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components.
Import ListNotations.
Set Implicit Arguments.

Inductive tree (V : Type) : Type :=
| Leaf (v : V)
| Dir (l : list (nat * tree V)).
Arguments Leaf {V}. Arguments Dir {V}.
Definition path := list nat.

Section Trees.
Context {V : Type}.
Notation T := (tree V).

Fixpoint lookup (n : nat) (l : list (nat * T)) : option T :=
  match l with
  | [] => None
  | (k, t) :: l' => if k =? n then Some t else lookup n l'
  end.
Fixpoint remove (n : nat) (l : list (nat * T)) : list (nat * T) :=
  match l with
  | [] => []
  | (k, t) :: l' => if k =? n then remove n l' else (k, t) :: remove n l'
  end.
Definition set (n : nat) (t : T) (l : list (nat * T)) : list (nat * T) := (n, t) :: remove n l.
Definition nil (l : list (nat * T)) : bool := match l with [] => true | _ => false end.

Fixpoint get (x : option T) (p : path) : option T :=
  match p with
  | [] => x
  | n :: p' => match x with Some (Dir l) => get (lookup n l) p' | _ => None end
  end.

(** [None]: a leaf is in the way. *)
Fixpoint tree_put (x : option T) (p : path) (v : T) : option T :=
  match p with
  | [] => Some v
  | n :: p' =>
      match x with
      | None => option_map (fun t => Dir [(n, t)]) (tree_put None p' v)
      | Some (Leaf _) => None
      | Some (Dir l) => option_map (fun t => Dir (set n t l)) (tree_put (lookup n l) p' v)
      end
  end.

Fixpoint drop (x : option T) (p : path) : option T :=
  match p with
  | [] => None
  | n :: p' =>
      match x with
      | Some (Dir l) =>
          match lookup n l with
          | None => x
          | Some t => Some (Dir (match drop (Some t) p' with Some t' => set n t' l | None => remove n l end))
          end
      | _ => x
      end
  end.

(** How many of the containers above the path are not there. *)
Fixpoint missing (x : option T) (p : path) : nat :=
  match p with
  | [] => 0
  | n :: p' =>
      match x with
      | None => S (length p')
      | Some (Leaf _) => length p'
      | Some (Dir l) => missing (lookup n l) p'
      end
  end.

(** Without the innermost [c] containers above the path, as far as they are empty. *)
Fixpoint prune (x : option T) (p : path) (c : nat) : option T :=
  match p with
  | [] => x
  | n :: p' =>
      match x with
      | Some (Dir l) =>
          match p' with
          | [] => if (1 <=? c) && nil l then None else x
          | _ => match lookup n l with
                 | None => x
                 | Some t =>
                     match prune (Some t) p' c with
                     | Some t' => Some (Dir (set n t' l))
                     | None => let l' := remove n l in
                               if (S (length p') <=? c) && nil l' then None else Some (Dir l')
                     end
                 end
          end
      | _ => x
      end
  end.

Definition is_dir (x : option T) : bool := match x with Some (Dir _) => true | _ => false end.

Inductive tree_op : Type :=
| Write (p : path) (t : T)            (* set_config, write_file *)
| Unset (p : path)                    (* unset_config, remove_file; delete_* without a witness *)
| Restore (p : path) (q : path).      (* restore_* at p from the capture of q *)

Variable files : bool.

(** [x0]: what stood there before the change; the outer option is failure. *)
Definition tree_step (o : tree_op) (x0 x : option T) : option (option T) :=
  match o with
  | Write p t => if files && is_dir (get x p) then None else option_map Some (tree_put x p t)
  | Unset p => if files && is_dir (get x p) then None else Some (drop x p)
  | Restore p q =>
      match get x0 q with
      | Some t => option_map Some (tree_put x p t)
      | None => if files && is_dir (get x p) then None
                else let y := drop x p in
                     Some (if list_eq_dec Nat.eq_dec p q then prune y p (missing x0 q) else y)
      end
  end.
Definition op_path (o : tree_op) : path := match o with Write p _ => p | Unset p => p | Restore p _ => p end.

(** An operation of a program: the name at the top and what happens below it. *)
Definition tree_forward (ro : nat * tree_op) : forward_op nat (option T) path :=
  {| fcomponent := fst ro; faddresses := [fst ro :: op_path (snd ro)]; frun := tree_step (snd ro) None |}.
Definition tree_recovery (ro : nat * tree_op) : recovery_op nat (option T) :=
  {| rcomponent := fst ro; rrun := tree_step (snd ro) |}.

(** Two trees are the same if every path shows the same: nothing, a container, or a leaf. *)
Definition skel (x : option T) : option (option V) :=
  match x with None => None | Some (Dir _) => Some None | Some (Leaf v) => Some (Some v) end.
Definition tsame (_ : nat) (x y : option T) : Prop := forall p, skel (get x p) = skel (get y p).

(** A diff shows the deepest paths that differ. *)
Definition differ (x y : option T) : Prop :=
  match x, y with
  | Some (Dir _), Some (Dir _) => False
  | None, Some (Dir (_ :: _)) => False
  | Some (Dir (_ :: _)), None => False
  | _, _ => skel x <> skel y
  end.
Definition tdif (r : nat) (x y : option T) (a : path) : Prop :=
  exists p, a = r :: p /\ differ (get x p) (get y p).

(** A contract covers what it lists and everything below. *)
Definition tcon (contract : list path) (a : path) : Prop :=
  exists p q, In p contract /\ a = p ++ q.

Record tree_candidate := TCandidate {
  tmutation : list (nat * tree_op); trecovery : list (nat * tree_op); tcontract : list path }.

Definition TRT (c : tree_candidate) (s : nat -> option T) : Prop :=
  RT_trace Nat.eq_dec (map tree_forward (tmutation c)) (map tree_recovery (trecovery c)) (tcon (tcontract c)) tdif tsame s.

Lemma tsame_refl i x : tsame i x x.
Proof. intros p. reflexivity. Qed.
Lemma tdif_refl i x a : ~ tdif i x x a.
Proof.
  intros (p & _ & H). unfold differ in H. destruct (get x p) as [[v|[|kt l]]|]; auto.
Qed.

(** The corrected decomposition for trees: top names are varied one at a time, around a base on which the
    mutation goes furthest. [ok] may be any set of local contents. *)
Theorem tree_decomposition (c : tree_candidate) (ok : nat -> option T -> Prop) (b : nat -> option T) :
  furthest Nat.eq_dec (map tree_forward (tmutation c)) ok b ->
  ((forall s, oks ok s -> TRT c s) <->
   TRT c b /\
   alone Nat.eq_dec (map tree_forward (tmutation c)) (map tree_recovery (trecovery c)) ok (TRT c) b /\
   beside Nat.eq_dec (map tree_forward (tmutation c)) (map tree_recovery (trecovery c)) ok (TRT c) b).
Proof. apply decomposition; [apply tsame_refl|apply tdif_refl]. Qed.

Theorem tree_decomposition_always_failing (c : tree_candidate) (ok : nat -> option T -> Prop) (b : nat -> option T) :
  furthest Nat.eq_dec (map tree_forward (tmutation c)) ok b -> ~ goes Nat.eq_dec (map tree_forward (tmutation c)) b ->
  ((forall s, oks ok s -> TRT c s) <->
   TRT c b /\ alone Nat.eq_dec (map tree_forward (tmutation c)) (map tree_recovery (trecovery c)) ok (TRT c) b).
Proof. apply decomposition_always_failing; [apply tsame_refl|apply tdif_refl]. Qed.

End Trees.

(** ** The hole itself: write_file a, write_file b, write_file a/x, write_file b/x, contract files["a"] *)
Definition a := 0. Definition b := 1. Definition x := 0.
Definition w (r : nat) (p : path) : nat * tree_op (V := nat) := (r, Write p (Leaf 7)).
Definition hole_files : tree_candidate (V := nat) :=
  TCandidate [w a []; w b []; w a [x]; w b [x]] [] [[a]].

(** The base that the search used: both are directories. *)
Definition dirs : nat -> option (tree nat) := fun _ => Some (Dir [(9, Leaf 1)]).

Lemma hole_never_goes s : exec Nat.eq_dec (map (tree_forward true) (tmutation hole_files)) s = None.
Proof.
  simpl. unfold tree_step; simpl. destruct (is_dir (s a)); simpl; auto.
  destruct (is_dir _); simpl; auto.
Qed.

(** It holds on every state in which one of the two is a directory: on the base and on every state that
    departs from it in one component. *)
Lemma hole_holds s : is_dir (s a) = true \/ is_dir (s b) = true -> TRT true hole_files s.
Proof.
  intros H. split.
  - intros ad. simpl. unfold tree_step; simpl. destruct (is_dir (s a)) eqn:Ea; simpl; [tauto|].
    destruct H as [?|Hb]; [discriminate|].
    replace (upd Nat.eq_dec s a (Some (Leaf 7)) b) with (s b) by reflexivity. rewrite Hb. simpl.
    intros [<-|[]]. exists [a], []. simpl. auto.
  - unfold RT_back. rewrite hole_never_goes. exists s. split; [reflexivity|]. intros i. apply tsame_refl.
Qed.

Theorem hole_passes_all_classes :
  TRT true hole_files dirs /\
  (forall i y, TRT true hole_files (upd Nat.eq_dec dirs i y)) /\
  ~ TRT true hole_files (fun _ => None).
Proof.
  split; [|split].
  - apply hole_holds. auto.
  - intros i y. apply hole_holds. unfold upd. destruct (Nat.eq_dec a i) as [<-|N]; auto.
  - intros [C _]. destruct (C [b]) as (p & q & [<-|[]] & E).
    + simpl. auto.
    + simpl in E. discriminate.
Qed.

(** Around a furthest base, the empty state, it is refuted by the base itself. *)
Theorem hole_furthest : furthest Nat.eq_dec (map (tree_forward true) (tmutation hole_files)) (fun _ _ => True) (fun _ => None).
Proof.
  apply furthest_by_parts; [intros i; exact I|].
  intros i y Hi _. simpl in Hi.
  destruct Hi as [<-|[<-|[<-|[<-|[]]]]]; simpl; unfold tree_step; simpl; destruct (is_dir y); simpl; lia.
Qed.
