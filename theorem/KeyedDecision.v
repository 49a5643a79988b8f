(** * Chapter 5. Deciding about keyed surfaces

    [brute]: all shapes of the named slots (2^n), for every candidate. [decide]: the classes of chapter 1 (linear), for
    candidates whose operations look at their own slot only. Both are sound and complete for "the round trip holds on
    every state" ([brute_nat], [decide_nat]), and both are extracted as oracles. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence.
Import ListNotations.
Set Implicit Arguments.

(** ** The round trip as a boolean *)
Section Boolean.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.

Definition eqo (x y : option V) : bool :=
  match x, y with
  | Some a, Some b => if V_dec a b then true else false
  | None, None => true
  | _, _ => false
  end.
Definition mem (k : nat) (l : list nat) : bool := if in_dec Nat.eq_dec k l then true else false.

Lemma eqo_spec x y : eqo x y = true <-> x = y.
Proof.
  destruct x, y; simpl; split; try congruence; destruct (V_dec v v0); congruence.
Qed.
Lemma mem_spec k l : mem k l = true <-> In k l.
Proof. unfold mem. destruct (in_dec _ k l); split; auto; discriminate. Qed.

Definition rtb (c : candidate V) (s : kstate V) : bool :=
  forallb (fun k => mem k (contract c)) (trace nowit (mutation c) s) &&
  forallb (fun k => eqo (after c s k) (s k) || mem k (contract c)) (names c) &&
  match run (capture (witness c) s) (recovery c) (after c s) with
  | Some s'' => forallb (fun k => eqo (s'' k) (s k)) (names c)
  | None => false
  end.

Lemma names_mutation (c : candidate V) : incl (map (@target V) (mutation c)) (names c).
Proof. intros k H. unfold names. rewrite !in_app_iff. left. apply targets_names, H. Qed.
Lemma names_recovery (c : candidate V) : incl (map (@target V) (recovery c)) (names c).
Proof. intros k H. unfold names. rewrite !in_app_iff. right. right. apply targets_names, H. Qed.

Theorem rtb_spec c s : rtb c s = true <-> RT c s.
Proof.
  unfold rtb, RT. rewrite !andb_true_iff, !forallb_forall. split.
  - intros [[Ht Hd] Hr]. split; [|split].
    + intros k Hk. apply mem_spec, Ht, Hk.
    + intros k Hk. destruct (in_dec Nat.eq_dec k (names c)) as [Hin|N].
      * specialize (Hd k Hin). apply orb_true_iff in Hd as [Hd|Hd]; [apply eqo_spec in Hd; tauto|apply mem_spec, Hd].
      * destruct Hk. apply after_untouched. intros H. apply N, names_mutation, H.
    + destruct (run _ _ _) as [s''|] eqn:E; [|discriminate]. exists s''. split; auto.
      rewrite forallb_forall in Hr. intros k. destruct (in_dec Nat.eq_dec k (names c)) as [Hin|N].
      * apply eqo_spec, Hr, Hin.
      * rewrite (run_untouched _ _ _ E).
        -- apply after_untouched. intros H. apply N, names_mutation, H.
        -- intros H. apply N, names_recovery, H.
  - intros (Ht & Hd & s'' & Hr & Hb). split; [split|].
    + intros k Hk. apply mem_spec, Ht, Hk.
    + intros k _. apply orb_true_iff. destruct (eqo (after c s k) (s k)) eqn:E; auto. right.
      apply mem_spec, Hd. intros H. apply eqo_spec in H. congruence.
    + rewrite Hr. apply forallb_forall. intros k _. apply eqo_spec, Hb.
Qed.
End Boolean.

(** ** All shapes *)
Section Brute.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.

Definition term_dec : forall a b : nat + V, {a = b} + {a <> b}.
Proof. decide equality. apply Nat.eq_dec. Defined.

Fixpoint sublists (l : list nat) : list (list nat) :=
  match l with
  | [] => [[]]
  | k :: l' => let r := sublists l' in r ++ map (cons k) r
  end.

Lemma sublists_filter f l : In (filter f l) (sublists l).
Proof.
  induction l as [|k l IH]; simpl; auto. apply in_or_app.
  destruct (f k); [right; apply in_map, IH|left; exact IH].
Qed.

Definition brute (c : candidate V) : bool :=
  forallb (fun l => rtb term_dec (embed c) (gen (fun k => mem k l))) (sublists (nodup Nat.eq_dec (names c))).

Lemma names_embed (c : candidate V) : names (embed c) = names c.
Proof.
  unfold names, embed; simpl.
  assert (forall p, prog_names (map (map_op (@inr nat V)) p) = prog_names p) as En.
  { induction p as [|o p IH]; simpl; auto. unfold prog_names in *. simpl. rewrite IH. f_equal.
    unfold op_names. simpl. destruct (source o); reflexivity. }
  now rewrite !En.
Qed.

Theorem brute_correct (c : candidate V) : enough_values (V := V) ->
  (brute c = true <-> forall t, RT c t).
Proof.
  intros Hv. rewrite (data_independence c Hv). unfold brute. rewrite forallb_forall. split.
  - intros H sh. specialize (H _ (sublists_filter sh (nodup Nat.eq_dec (names c)))).
    apply rtb_spec in H. refine (RT_frame _ H).
    intros k Hk. unfold gen. rewrite names_embed in Hk.
    destruct (sh k) eqn:E.
    + assert (mem k (filter sh (nodup Nat.eq_dec (names c))) = true) as ->; auto.
      apply mem_spec, filter_In. split; auto. apply nodup_In, Hk.
    + destruct (mem k _) eqn:Em; auto. apply mem_spec, filter_In in Em as [_ Em]. congruence.
  - intros H l _. apply rtb_spec, H.
Qed.
End Brute.

(** ** Candidates whose operations look at their own slot only *)
Section Own.
Context {V : Type}.

(** The slot that was captured under a witness key. *)
Fixpoint captured (ws : list (nat * nat)) (w : nat) : option nat :=
  match ws with
  | [] => None
  | (w', k) :: ws' => match captured ws' w with
                      | Some j => Some j
                      | None => if Nat.eq_dec w w' then Some k else None
                      end
  end.

Lemma capture_captured ws (s : kstate V) w : capture ws s w = option_map s (captured ws w).
Proof.
  induction ws as [|[w' k] ws IH]; simpl; auto. rewrite IH.
  destruct (captured ws w); simpl; auto. destruct (Nat.eq_dec w w'); auto.
Qed.

Definition own_op (ws : list (nat * nat)) (o : op V) : bool :=
  forallb (fun g => fst g =? target o) (guards o) &&
  match source o with
  | Slot j => j =? target o
  | Wit w => match captured ws w with Some k => k =? target o | None => true end
  | _ => true
  end.
Definition own (c : candidate V) : bool :=
  forallb (own_op []) (mutation c) && forallb (own_op (witness c)) (recovery c).

Definition local (ws : list (nat * nat)) (o : op V) (x0 x : option V) : option (option V) :=
  if forallb (fun g => Bool.eqb (there x) (snd g)) (guards o)
  then match source o with
       | Lit v => Some (Some v)
       | Nothing => Some None
       | Wit w => match captured ws w with Some _ => Some x0 | None => None end
       | Slot _ => Some x
       end
  else None.

Definition forward_of (o : op V) : forward_op nat (option V) nat :=
  {| fcomponent := target o; faddresses := [target o]; frun := local [] o None |}.
Definition recovery_of (ws : list (nat * nat)) (o : op V) : recovery_op nat (option V) :=
  {| rcomponent := target o; rrun := local ws o |}.

Lemma step_local ws o s0 s : own_op ws o = true ->
  step (capture ws s0) o s =
  match local ws o (s0 (target o)) (s (target o)) with Some x => Some (put s (target o) x) | None => None end.
Proof.
  unfold own_op, step, local. rewrite andb_true_iff. intros [Hg Hs].
  assert (forallb (holds s) (guards o) = forallb (fun g => Bool.eqb (there (s (target o))) (snd g)) (guards o)) as ->.
  { induction (guards o) as [|g l IH]; simpl in *; auto. apply andb_true_iff in Hg as [Hg1 Hg2].
    rewrite IH by auto. unfold holds. apply Nat.eqb_eq in Hg1. rewrite Hg1. reflexivity. }
  clear Hg. destruct (forallb _ _); auto.
  destruct (source o) as [v| |w|j]; simpl; auto.
  - rewrite capture_captured. destruct (captured ws w); simpl; auto. apply Nat.eqb_eq in Hs. now subst.
  - apply Nat.eqb_eq in Hs. now subst.
Qed.

Lemma run_exec p : forallb (own_op []) p = true -> forall s,
  run nowit p s = exec Nat.eq_dec (map forward_of p) s /\ trace nowit p s = traced Nat.eq_dec (map forward_of p) s.
Proof.
  induction p as [|o p IH]; simpl; intros H s; auto. apply andb_true_iff in H as [Ho Hp].
  assert (local [] o (s (target o)) (s (target o)) = local [] o None (s (target o))) as El.
  { unfold local. destruct (forallb _ (guards o)); auto. }
  pose proof (@step_local [] o s s Ho) as E. simpl in E. rewrite E, El. clear E El.
  destruct (local [] o None (s (target o))); auto.
  destruct (IH Hp (put s (target o) o0)) as [-> ->]. split; reflexivity.
Qed.

Lemma run_rexec ws s0 p : forallb (own_op ws) p = true -> forall s,
  run (capture ws s0) p s = rexec Nat.eq_dec (map (recovery_of ws) p) s0 s.
Proof.
  induction p as [|o p IH]; simpl; intros H s; auto. apply andb_true_iff in H as [Ho Hp].
  rewrite (@step_local ws o s0 s Ho). destruct (local ws o _ _); auto.
Qed.

Definition dif (i : nat) (x y : option V) (a : nat) : Prop := x <> y /\ a = i.
Definition same (i : nat) (x y : option V) : Prop := x = y.
Definition con (c : candidate V) (a : nat) : Prop := In a (contract c).
Definition forward_ops (c : candidate V) := map forward_of (mutation c).
Definition recovery_ops (c : candidate V) := map (recovery_of (witness c)) (recovery c).

Theorem RT_components c s : own c = true ->
  (RT c s <-> RT_trace Nat.eq_dec (forward_ops c) (recovery_ops c) (con c) dif same s).
Proof.
  unfold own. rewrite andb_true_iff. intros [Hm Hr].
  destruct (@run_exec _ Hm s) as [Er Et].
  unfold RT, RT_trace, RT_back, covered, back, con, dif, same, after.
  unfold forward_ops, recovery_ops. rewrite <- Er, <- Et.
  destruct (run nowit (mutation c) s) as [s'|]; rewrite (@run_rexec _ s _ Hr).
  - split.
    + intros (Ht & Hd & Hb). split; [auto|split; auto]. intros i a [Hne ->]. apply Hd. congruence.
    + intros (Ht & Hd & Hb). split; [auto|split; auto]. intros k Hk. apply (Hd k k). split; auto.
  - split.
    + intros (Ht & _ & Hb). auto.
    + intros (Ht & Hb). split; [auto|split; auto]. intros k Hk. congruence.
Qed.
End Own.

(** ** The linear decision procedure *)
Section Linear.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Local Notation T := (nat + V)%type.

Definition contents (k : nat) : list (option T) := [None; Some (inl k)].

(** Per slot the content with which its slice goes furthest. *)
Definition best (m : list (forward_op nat (option T) nat)) (k : nat) : option T :=
  if slice_reach Nat.eq_dec m k None <? slice_reach Nat.eq_dec m k (Some (inl k)) then Some (inl k) else None.

Definition culprits (m : list (forward_op nat (option T) nat)) (ks : list nat) : list (nat * option T) :=
  filter (fun jy => negb (there (slice_exec Nat.eq_dec m (fst jy) (snd jy))))
         (flat_map (fun j => map (pair j) (contents j)) ks).

Definition decide (c : candidate V) : bool :=
  let c' := embed c in
  let m := forward_ops c' in
  let ks := nodup Nat.eq_dec (names c) in
  let b := best m in
  let bad := culprits m ks in
  let ok := rtb (term_dec V_dec) c' in
  ok b &&
  forallb (fun k => forallb (fun x => ok (put b k x)) (contents k)) ks &&
  forallb (fun k => match find (fun jy => negb (fst jy =? k)) bad with
                    | None => true
                    | Some (j, y) => forallb (fun x => ok (put (put b j y) k x)) (contents k)
                    end) ks.

Definition okc (k : nat) (x : option T) : Prop := In x (contents k).

Lemma best_furthest m : furthest Nat.eq_dec m okc (best m).
Proof.
  apply furthest_by_parts.
  - intros k. unfold best, okc. destruct (_ <? _); simpl; auto.
  - intros i x _ Hx. unfold best.
    destruct (slice_reach Nat.eq_dec m i None <? slice_reach Nat.eq_dec m i (Some (inl i))) eqn:E;
      [apply Nat.ltb_lt in E|apply Nat.ltb_ge in E];
      destruct Hx as [<-|[<-|[]]]; auto using Nat.lt_le_incl.
Qed.

Lemma own_embed (c : candidate V) : own (embed c) = own c.
Proof.
  unfold own, embed; simpl. f_equal.
  - induction (mutation c) as [|o p IH]; simpl; auto. rewrite IH. f_equal. unfold own_op; simpl.
    f_equal. destruct (source o); reflexivity.
  - induction (recovery c) as [|o p IH]; simpl; auto. rewrite IH. f_equal. unfold own_op; simpl.
    f_equal. destruct (source o); reflexivity.
Qed.

(** The states made of generic contents are the generic states. *)
Lemma generic_oks (c : candidate T) :
  (forall sh, RT c (gen sh)) <-> (forall s, oks okc s -> RT c s).
Proof.
  split.
  - intros H s Hs. apply RT_frame with (s := gen (fun k => there (s k))); auto.
    intros k _. unfold gen. destruct (Hs k) as [E|[E|[]]]; rewrite <- E; reflexivity.
  - intros H sh. apply H. intros k. unfold gen, okc. destruct (sh k); simpl; auto.
Qed.

Lemma named_names (c : candidate T) i : In i (Components.named (forward_ops c) (recovery_ops c)) -> In i (names c).
Proof.
  unfold Components.named, forward_ops, recovery_ops. rewrite !map_map. simpl. rewrite in_app_iff. intros [H|H].
  - apply names_mutation, H.
  - apply names_recovery, H.
Qed.

Theorem decide_correct (c : candidate V) : own c = true -> enough_values (V := V) ->
  (decide c = true <-> forall t, RT c t).
Proof.
  intros Hown Hv. rewrite (data_independence c Hv).
  refine (iff_trans _ (iff_sym (generic_oks (embed c)))).
  set (c' := embed c).
  assert (Ho : own c' = true) by (unfold c'; rewrite own_embed; exact Hown).
  set (m := forward_ops c').
  pose proof (best_furthest m) as Hf. pose proof Hf as [Hb _].
  assert (Hname : forall i, In i (Components.named m (recovery_ops c')) -> In i (nodup Nat.eq_dec (names c))).
  { intros i Hi. apply nodup_In. unfold m in Hi. apply named_names in Hi. unfold c' in Hi. rewrite names_embed in Hi. exact Hi. }
  unfold decide. fold c'. fold m. rewrite !andb_true_iff, !forallb_forall. split.
  - intros [[H1 H2] H3].
    assert (Hrt : forall s, rtb (term_dec V_dec) c' s = true ->
              RT_trace Nat.eq_dec m (recovery_ops c') (con c') dif same s).
    { intros s Hs. apply RT_components; auto. apply rtb_spec in Hs. exact Hs. }
    assert (D : forall s, oks okc s -> RT_trace Nat.eq_dec m (recovery_ops c') (con c') dif same s).
    { apply (proj2 (@decomposition _ _ _ Nat.eq_dec m (recovery_ops c') (con c') dif same
                      (fun _ _ => eq_refl) (fun _ _ _ H => proj1 H eq_refl) okc (best m) Hf)).
      split; [|split].
      - apply Hrt, H1.
      - intros i x Hi Hx. apply Hrt. specialize (H2 i (Hname i Hi)). rewrite forallb_forall in H2. apply H2, Hx.
      - intros i Hi (j & y & N & Hy & Hfail).
        specialize (H3 i (Hname i Hi)).
        destruct (find (fun jy => negb (fst jy =? i)) (culprits m (nodup Nat.eq_dec (names c)))) as [[j' y']|] eqn:E.
        + apply find_some in E as [Hin Hne]. simpl in Hne. apply negb_true_iff, Nat.eqb_neq in Hne.
          unfold culprits in Hin. apply filter_In in Hin as [Hin Hc]. simpl in Hc.
          apply in_flat_map in Hin as (j0 & _ & Hin). apply in_map_iff in Hin as (y0 & Heq & Hin).
          injection Heq as -> ->.
          exists j', y'. split; [auto|]. split; [exact Hin|]. split.
          * unfold can_fail. destruct (slice_exec Nat.eq_dec m j' y'); [discriminate|reflexivity].
          * intros x Hx. apply Hrt. rewrite forallb_forall in H3. apply H3, Hx.
        + exfalso. apply find_none with (x := (j, y)) in E.
          * simpl in E. apply negb_false_iff, Nat.eqb_eq in E. auto.
          * unfold culprits. apply filter_In. unfold can_fail in Hfail. cbn [fst snd]. rewrite Hfail. split; [|reflexivity].
            apply in_flat_map. exists j. split; [|apply (in_map (pair j)), Hy].
            apply Hname. unfold Components.named. apply in_or_app. left.
            destruct (in_dec Nat.eq_dec j (map (@fcomponent _ _ _) m)) as [?|Nj]; auto.
            rewrite (slice_exec_unnamed Nat.eq_dec m _ _ Nj) in Hfail. discriminate. }
    intros s Hs. apply RT_components; auto.
  - intros H.
    assert (Hall : forall s, oks okc s -> rtb (term_dec V_dec) c' s = true) by (intros s Hs; apply rtb_spec; auto).
    assert (Hup : forall s k x, oks okc s -> In x (contents k) -> oks okc (put s k x)).
    { intros s k x Hs Hx. apply oks_upd; auto. }
    split; [split|].
    + apply Hall, Hb.
    + intros k _. apply forallb_forall. intros x Hx. apply Hall, Hup; auto.
    + intros k _. destruct (find _ _) as [[j y]|] eqn:E; auto.
      apply find_some in E as [Hin _]. unfold culprits in Hin. apply filter_In in Hin as [Hin _].
      apply in_flat_map in Hin as (j0 & _ & Hin). apply in_map_iff in Hin as (y0 & Heq & Hin).
      injection Heq as -> ->.
      apply forallb_forall. intros x Hx. apply Hall. auto.
Qed.
End Linear.

(** Numbers are enough values, so for [V := nat] there is no assumption left. *)
Lemma nat_enough : enough_values (V := nat).
Proof.
  intros l. exists (fun k => S (list_max l) + k). split.
  - intros j k. lia.
  - intros k Hin. pose proof (proj1 (list_max_le l (list_max l)) (Nat.le_refl _)) as H.
    rewrite Forall_forall in H. specialize (H _ Hin). lia.
Qed.

Corollary decide_nat (c : candidate nat) : own c = true -> (decide Nat.eq_dec c = true <-> forall t, RT c t).
Proof. intros H. apply decide_correct; auto. apply nat_enough. Qed.
Corollary brute_nat (c : candidate nat) : brute Nat.eq_dec c = true <-> forall t, RT c t.
Proof. apply brute_correct, nat_enough. Qed.
