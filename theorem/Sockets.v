(** * Sockets: where equality with a literal does matter

    An address can be held by one key only, so operations compare values. What is left of data independence is
    renaming by an *injective* function; and a generic state is not the worst case of its shape any more. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence.
Import ListNotations.
Set Implicit Arguments.

Inductive sop (V : Type) : Type :=
| Allocate (k : nat) (v : V)
| Free (k : nat)                  (* free_socket; release_socket without a witness *)
| Release (k : nat) (w : nat).    (* release_socket with a witness: reinstates what was there *)
Arguments Allocate {V}. Arguments Free {V}. Arguments Release {V}.

Section Sockets.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable ks : list nat.           (* all keys that can hold an address *)

Definition held (s : kstate V) (k : nat) (v : V) : bool :=
  existsb (fun j => negb (j =? k) && match s j with Some u => if V_dec u v then true else false | None => false end) ks.
Definition claim (s : kstate V) (k : nat) (v : V) : option (kstate V) :=
  if held s k v then None else Some (put s k (Some v)).
Definition sstep (e : env V) (o : sop V) (s : kstate V) : option (kstate V) :=
  match o with
  | Allocate k v => claim s k v
  | Free k => Some (put s k None)
  | Release k w => match e w with
                   | None => None
                   | Some None => Some (put s k None)
                   | Some (Some v) => claim s k v
                   end
  end.
Definition starget (o : sop V) : nat := match o with Allocate k _ => k | Free k => k | Release k _ => k end.
Fixpoint srun (e : env V) (p : list (sop V)) (s : kstate V) : option (kstate V) :=
  match p with
  | [] => Some s
  | o :: p' => match sstep e o s with Some s' => srun e p' s' | None => None end
  end.
Fixpoint strace (e : env V) (p : list (sop V)) (s : kstate V) : list nat :=
  match p with
  | [] => []
  | o :: p' => match sstep e o s with Some s' => starget o :: strace e p' s' | None => [] end
  end.
End Sockets.

Record scandidate (V : Type) := SCandidate {
  smutation : list (sop V); switness : list (nat * nat); srecovery : list (sop V); scontract : list nat }.

Section Trip.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable ks : list nat.
Variable c : scandidate V.
Definition safter (s : kstate V) : kstate V :=
  match srun V_dec ks nowit (smutation c) s with Some s' => s' | None => s end.
Definition SRT (s : kstate V) : Prop :=
  (forall k, In k (strace V_dec ks nowit (smutation c) s) -> In k (scontract c)) /\
  (forall k, safter s k <> s k -> In k (scontract c)) /\
  exists s'', srun V_dec ks (capture (switness c) s) (srecovery c) (safter s) = Some s'' /\ forall k, s'' k = s k.
End Trip.

Section Renaming.
Variables (A B : Type) (A_dec : forall a b : A, {a = b} + {a <> b}) (B_dec : forall a b : B, {a = b} + {a <> b}).
Variable h : A -> B.
Hypothesis h_inj : forall a b, h a = h b -> a = b.
Variable ks : list nat.

Definition map_sop (o : sop A) : sop B :=
  match o with Allocate k v => Allocate k (h v) | Free k => Free k | Release k w => Release k w end.
Definition map_scandidate (c : scandidate A) : scandidate B :=
  SCandidate (map map_sop (smutation c)) (switness c) (map map_sop (srecovery c)) (scontract c).

Lemma held_map s t k v : rel h s t -> held B_dec ks t k (h v) = held A_dec ks s k v.
Proof.
  intros H. unfold held. induction ks as [|j l IH]; simpl; auto. rewrite IH. f_equal. f_equal.
  rewrite H. destruct (s j) as [u|]; simpl; auto.
  destruct (B_dec (h u) (h v)) as [E|N], (A_dec u v) as [E'|N']; auto; [destruct N'; auto|congruence].
Qed.

Lemma claim_map s t k v : rel h s t ->
  match claim A_dec ks s k v, claim B_dec ks t k (h v) with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros H. unfold claim. rewrite (held_map _ _ H). destruct (held A_dec ks s k v); auto.
  apply (rel_put k (Some v) H).
Qed.

Lemma sstep_map e f o s t : erel h e f -> rel h s t ->
  match sstep A_dec ks e o s, sstep B_dec ks f (map_sop o) t with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros He H. destruct o as [k v|k|k w]; simpl.
  - apply claim_map, H.
  - apply (rel_put k None H).
  - rewrite He. destruct (e w) as [[v|]|]; simpl; auto.
    + apply claim_map, H.
    + apply (rel_put k None H).
Qed.

Lemma srun_map e f p : erel h e f -> forall s t, rel h s t ->
  strace B_dec ks f (map map_sop p) t = strace A_dec ks e p s /\
  match srun A_dec ks e p s, srun B_dec ks f (map map_sop p) t with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros He. induction p as [|o p IH]; simpl; intros s t H; auto.
  pose proof (@sstep_map e f o s t He H) as Hs.
  assert (Et : starget (map_sop o) = starget o) by (destruct o; reflexivity).
  destruct (sstep A_dec ks e o s), (sstep B_dec ks f (map_sop o) t); try tauto; auto.
  destruct (IH _ _ Hs) as [-> Hr]. rewrite Et. auto.
Qed.

(** Addresses may be renamed, one to one: which literal, if any, a key holds is all that counts. *)
Theorem socket_renaming c s t : rel h s t ->
  (SRT A_dec ks c s <-> SRT B_dec ks (map_scandidate c) t).
Proof.
  intros H.
  assert (Hx : forall x y : option A, option_map h x = option_map h y <-> x = y).
  { intros [x|] [y|]; simpl; split; try congruence. intros E. injection E as E. f_equal. auto. }
  destruct (@srun_map nowit nowit (smutation c) (@nowit_rel _ _ h) s t H) as [Et Hr].
  assert (Ha : rel h (safter A_dec ks c s) (safter B_dec ks (map_scandidate c) t)).
  { unfold safter. simpl. destruct (srun A_dec ks nowit (smutation c) s), (srun B_dec ks nowit (map map_sop (smutation c)) t);
      tauto || auto. }
  destruct (@srun_map _ _ (srecovery c) (@capture_rel _ _ h (switness c) s t H) _ _ Ha) as [_ Hrr].
  unfold SRT. simpl. rewrite Et.
  assert (Hd : forall k, safter B_dec ks (map_scandidate c) t k <> t k <-> safter A_dec ks c s k <> s k).
  { intros k. rewrite Ha, H, Hx. reflexivity. }
  assert (Hb : (exists s'', srun A_dec ks (capture (switness c) s) (srecovery c) (safter A_dec ks c s) = Some s'' /\ (forall k, s'' k = s k)) <->
               (exists t'', srun B_dec ks (capture (switness c) t) (map map_sop (srecovery c)) (safter B_dec ks (map_scandidate c) t) = Some t'' /\ (forall k, t'' k = t k))).
  { destruct (srun A_dec ks (capture (switness c) s) (srecovery c) (safter A_dec ks c s)) as [s''|],
             (srun B_dec ks (capture (switness c) t) (map map_sop (srecovery c)) (safter B_dec ks (map_scandidate c) t)) as [t''|]; try tauto.
    - split; intros (u & E & Hu); injection E as <-; eexists; (split; [reflexivity|]); intros k.
      + rewrite Hrr, H, Hu. reflexivity.
      + apply Hx. rewrite <- Hrr, <- H. apply Hu.
    - split; intros (u & E & _); discriminate. }
  rewrite Hb. split; intros (H1 & H2 & H3); split; auto; split; auto; intros k Hk; apply H2, Hd, Hk.
Qed.
End Renaming.

(** The story: metrics (0) moves to 9210, debug (1) opens 9211; recovery releases metrics first.
    It holds on every shape with addresses of their own, and fails where metrics stood on 9211. *)
Definition story : scandidate nat :=
  SCandidate [Allocate 0 10; Allocate 1 11] [(0, 0); (1, 1)] [Release 0 0; Release 1 1] [0; 1].
Definition at_most (m d : option nat) : kstate nat := fun k => if Nat.eq_dec k 0 then m else if Nat.eq_dec k 1 then d else None.

Theorem generic_is_not_worst_for_sockets :
  (forall m d, (m = None \/ m = Some 100) -> (d = None \/ d = Some 101) -> SRT Nat.eq_dec [0; 1] story (at_most m d)) /\
  ~ SRT Nat.eq_dec [0; 1] story (at_most (Some 11) None).
Proof.
  split.
  - intros m d [->| ->] [->| ->]; (split; [simpl; tauto|split]).
    all: try (intros k Hk; destruct k as [|[|k]]; [simpl; auto|simpl; auto|destruct Hk; reflexivity]).
    all: eexists; split; [reflexivity|]; intros k; destruct k as [|[|k]]; reflexivity.
  - intros (_ & _ & s'' & H & _). vm_compute in H. discriminate.
Qed.
