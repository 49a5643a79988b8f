(** * Chapter 2. The search as a program

    Given finitely many contents for every component and the round trip as a program, decide all joint states by a
    number of runs that is linear in the number of contents ([search_correct], [classes_linear]): find the furthest
    base slice by slice, look at it, at each component varied alone, and at each beside one that fails. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components.
Import ListNotations.
Set Implicit Arguments.

Section Argmax.
Variable X : Type.
Variable f : X -> nat.
Fixpoint argmax (d : X) (l : list X) : X :=
  match l with
  | [] => d
  | x :: l' => argmax (if f d <? f x then x else d) l'
  end.
Lemma argmax_in l : forall d, In (argmax d l) (d :: l).
Proof.
  induction l as [|x l IH]; simpl; intros d; auto.
  destruct (IH (if f d <? f x then x else d)) as [E|H]; auto.
  rewrite <- E. destruct (f d <? f x); auto.
Qed.
Lemma argmax_max l : forall d x, In x (d :: l) -> f x <= f (argmax d l).
Proof.
  induction l as [|y l IH]; simpl; intros d x H.
  - destruct H as [->|[]]. auto.
  - assert (f d <= f (if f d <? f y then y else d) /\ f y <= f (if f d <? f y then y else d)) as [H1 H2].
    { destruct (f d <? f y) eqn:E; [apply Nat.ltb_lt in E|apply Nat.ltb_ge in E]; lia. }
    destruct H as [->|[->|H]].
    + etransitivity; [exact H1|]. apply IH. simpl. auto.
    + etransitivity; [exact H2|]. apply IH. simpl. auto.
    + apply IH. simpl. auto.
Qed.
End Argmax.

Section Finite.
Variables X A : Type.
Variable M : list (forward_op nat X A).
Variable R : list (recovery_op nat X).
Variable con : A -> Prop.
Variable dif : nat -> X -> X -> A -> Prop.
Variable same : nat -> X -> X -> Prop.
Hypothesis same_refl : forall i x, same i x x.
Hypothesis dif_refl : forall i x a, ~ dif i x x a.
Variable rt : (nat -> X) -> bool.
Hypothesis rt_spec : forall s, rt s = true <-> RT_trace Nat.eq_dec M R con dif same s.

(** The local contents of a component: a first one and the others. *)
Variable first : nat -> X.
Variable others : nat -> list X.
Definition choices (i : nat) : list X := first i :: others i.
Definition okf (i : nat) (x : X) : Prop := In x (choices i).

Definition comps : list nat := nodup Nat.eq_dec (named M R).
Definition fails (i : nat) (x : X) : bool :=
  match slice_exec Nat.eq_dec M i x with Some _ => false | None => true end.

(** The furthest base, slice by slice. *)
Definition base (i : nat) : X := argmax (slice_reach Nat.eq_dec M i) (first i) (others i).

Definition bad : list (nat * X) :=
  filter (fun jy => fails (fst jy) (snd jy)) (flat_map (fun j => map (pair j) (choices j)) comps).

Definition classes : list (nat -> X) :=
  base ::
  flat_map (fun i => map (fun x => upd Nat.eq_dec base i x) (choices i)) comps ++
  flat_map (fun i => match find (fun jy => negb (fst jy =? i)) bad with
                     | None => []
                     | Some (j, y) => map (fun x => upd Nat.eq_dec (upd Nat.eq_dec base j y) i x) (choices i)
                     end) comps.

Definition search : bool := forallb rt classes.

Lemma base_furthest : furthest Nat.eq_dec M okf base.
Proof.
  apply furthest_by_parts.
  - intros i. apply argmax_in.
  - intros i x _ Hx. apply argmax_max with (f := slice_reach Nat.eq_dec M i), Hx.
Qed.

Theorem search_correct :
  search = true <-> forall s, (forall i, In (s i) (choices i)) -> RT_trace Nat.eq_dec M R con dif same s.
Proof.
  pose proof base_furthest as Hf. pose proof Hf as [Hb _].
  unfold search. rewrite forallb_forall. split.
  - intros H.
    assert (Hrt : forall s, In s classes -> RT_trace Nat.eq_dec M R con dif same s)
      by (intros s Hs; apply rt_spec, H, Hs).
    apply (proj2 (@decomposition _ _ _ Nat.eq_dec M R con dif same same_refl dif_refl okf base Hf)).
    split; [|split].
    + apply Hrt. left. reflexivity.
    + intros i x Hi Hx. apply Hrt. right. apply in_or_app. left. apply in_flat_map. exists i.
      split; [apply nodup_In, Hi|]. apply (in_map (fun x => upd Nat.eq_dec base i x)), Hx.
    + intros i Hi (j & y & N & Hy & Hfail).
      destruct (find (fun jy => negb (fst jy =? i)) bad) as [[j' y']|] eqn:E.
      * pose proof (find_some _ _ E) as [Hin Hne]. simpl in Hne. apply negb_true_iff, Nat.eqb_neq in Hne.
        unfold bad in Hin. apply filter_In in Hin as [Hin Hc]. simpl in Hc.
        apply in_flat_map in Hin as (j0 & _ & Hin). apply in_map_iff in Hin as (y0 & Heq & Hin).
        injection Heq as -> ->.
        exists j', y'. split; [auto|]. split; [exact Hin|]. split.
        -- unfold can_fail, fails in *. destruct (slice_exec Nat.eq_dec M j' y'); [discriminate|reflexivity].
        -- intros x Hx. apply Hrt. right. apply in_or_app. right. apply in_flat_map. exists i.
           split; [apply nodup_In, Hi|]. rewrite E.
           apply (in_map (fun x => upd Nat.eq_dec (upd Nat.eq_dec base j' y') i x)), Hx.
      * exfalso. apply find_none with (x := (j, y)) in E.
        -- simpl in E. apply negb_false_iff, Nat.eqb_eq in E. auto.
        -- unfold bad. apply filter_In. unfold fails, can_fail in *. cbn [fst snd]. rewrite Hfail. split; [|reflexivity].
           apply in_flat_map. exists j. split; [|apply (in_map (pair j)), Hy].
           apply nodup_In. unfold named. apply in_or_app. left.
           destruct (in_dec Nat.eq_dec j (map (@fcomponent _ _ _) M)) as [?|Nj]; auto.
           rewrite (slice_exec_unnamed Nat.eq_dec M _ _ Nj) in Hfail. discriminate.
  - intros H s Hs. apply rt_spec, H.
    assert (Hup : forall t k x, oks okf t -> In x (choices k) -> oks okf (upd Nat.eq_dec t k x)).
    { intros t k x Ht Hx. apply oks_upd; auto. }
    destruct Hs as [<-|Hs]; [exact Hb|]. apply in_app_or in Hs as [Hs|Hs]; apply in_flat_map in Hs as (i & _ & Hs).
    + apply in_map_iff in Hs as (x & <- & Hx). apply Hup; auto.
    + destruct (find _ bad) as [[j y]|] eqn:E; [|destruct Hs].
      apply find_some in E as [Hin _]. unfold bad in Hin. apply filter_In in Hin as [Hin _].
      apply in_flat_map in Hin as (j0 & _ & Hin). apply in_map_iff in Hin as (y0 & Heq & Hin).
      injection Heq as -> ->.
      apply in_map_iff in Hs as (x & <- & Hx). apply Hup; auto.
Qed.

(** As many runs as local contents, twice, and one. *)
Theorem classes_linear :
  length classes <= 1 + 2 * list_sum (map (fun i => length (choices i)) comps).
Proof.
  assert (forall l, length (flat_map (fun i => map (fun x => upd Nat.eq_dec base i x) (choices i)) l) =
                    list_sum (map (fun i => length (choices i)) l)) as E1.
  { induction l as [|i l IH]; auto. cbn [flat_map map list_sum fold_right]. rewrite app_length, map_length, IH. reflexivity. }
  assert (forall l, length (flat_map (fun i => match find (fun jy => negb (fst jy =? i)) bad with
                     | None => []
                     | Some (j, y) => map (fun x => upd Nat.eq_dec (upd Nat.eq_dec base j y) i x) (choices i)
                     end) l) <= list_sum (map (fun i => length (choices i)) l)) as E2.
  { induction l as [|i l IH]; auto. cbn [flat_map map list_sum fold_right]. rewrite app_length.
    apply Nat.add_le_mono; [|exact IH].
    destruct (find _ bad) as [[j y]|]; [rewrite map_length; auto|simpl; lia]. }
  specialize (E1 comps). specialize (E2 comps).
  set (n := list_sum (map (fun i => length (choices i)) comps)) in *.
  unfold classes. cbn [length]. rewrite app_length, E1. lia.
Qed.
End Finite.
