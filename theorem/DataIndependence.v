(** * Chapter 4. Data independence

    Operations move contents and never look at them, so replacing all contents by a function [h] commutes with every
    run. [h] need not be injective for that: a round trip that holds is kept by *every* [h] ([RT_kept]); one that fails
    is kept by an [h] that is injective on the contents that occur ([RT_reflected]). Hence one generic state for each
    shape decides ([data_independence]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed.
Import ListNotations.
Set Implicit Arguments.

Definition map_src {A B} (h : A -> B) (x : src A) : src B :=
  match x with Lit v => Lit (h v) | Nothing => Nothing | Wit w => Wit w | Slot j => Slot j end.
Definition map_op {A B} (h : A -> B) (o : op A) : op B :=
  Op (target o) (guards o) (map_src h (source o)).
Definition map_candidate {A B} (h : A -> B) (c : candidate A) : candidate B :=
  Candidate (map (map_op h) (mutation c)) (witness c) (map (map_op h) (recovery c)) (contract c).

Section Naturality.
Variables (A B : Type) (h : A -> B).

Definition rel (s : kstate A) (t : kstate B) := forall k, t k = option_map h (s k).
Definition erel (e : env A) (f : env B) := forall w, f w = option_map (option_map h) (e w).

Lemma rel_put s t k x : rel s t -> rel (put s k x) (put t k (option_map h x)).
Proof.
  intros H j. destruct (Nat.eq_dec j k) as [->|N].
  - now rewrite !put_same.
  - now rewrite !put_other by auto.
Qed.

Lemma rel_holds s t g : rel s t -> holds t g = holds s g.
Proof. intros H. unfold holds. rewrite H. destruct (s (fst g)); reflexivity. Qed.

Lemma rel_fetch e f s t x : erel e f -> rel s t ->
  fetch f t (map_src h x) = option_map (option_map h) (fetch e s x).
Proof. intros He H. destruct x; simpl; auto. now rewrite H. Qed.

Lemma step_rel e f o s t : erel e f -> rel s t ->
  match step e o s, step f (map_op h o) t with
  | Some s', Some t' => rel s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros He H. unfold step. simpl.
  assert (forallb (holds t) (guards o) = forallb (holds s) (guards o)) as ->.
  { induction (guards o) as [|g l IH]; simpl; auto. rewrite IH, (rel_holds _ H). reflexivity. }
  destruct (forallb (holds s) (guards o)); auto.
  rewrite (rel_fetch _ He H). destruct (fetch e s (source o)); simpl; auto. apply rel_put, H.
Qed.

Lemma run_rel e f p : erel e f -> forall s t, rel s t ->
  trace f (map (map_op h) p) t = trace e p s /\
  match run e p s, run f (map (map_op h) p) t with
  | Some s', Some t' => rel s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros He. induction p as [|o p IH]; simpl; intros s t H; [auto|].
  pose proof (@step_rel e f o s t He H) as Hs.
  destruct (step e o s) as [s'|], (step f (map_op h o) t) as [t'|]; try tauto; auto.
  destruct (IH _ _ Hs) as [-> Hr]. auto.
Qed.

Lemma capture_rel ws s t : rel s t -> erel (capture ws s) (capture ws t).
Proof.
  intros H. induction ws as [|[w k] ws IH]; simpl; intros w'; auto.
  rewrite IH. destruct (capture ws s w'); simpl; auto.
  destruct (Nat.eq_dec w' w); simpl; auto. now rewrite H.
Qed.

Lemma nowit_rel : erel nowit nowit.
Proof. intros w. reflexivity. Qed.

Lemma after_rel c s t : rel s t -> rel (after c s) (after (map_candidate h c) t).
Proof.
  intros H. unfold after. simpl.
  destruct (@run_rel nowit nowit (mutation c) nowit_rel s t H) as [_ Hr].
  destruct (run nowit (mutation c) s), (run nowit (map (map_op h) (mutation c)) t); tauto || auto.
Qed.

(** Whatever the values become, what held still holds. *)
Theorem RT_kept c s t : rel s t -> RT c s -> RT (map_candidate h c) t.
Proof.
  intros H (Ht & Hd & s'' & Hr & Hb).
  pose proof (@after_rel c s t H) as Haft.
  split; [|split].
  - simpl. destruct (@run_rel nowit nowit (mutation c) nowit_rel s t H) as [-> _]. exact Ht.
  - intros k Hk. apply Hd. intros E. apply Hk. rewrite Haft, H, E. reflexivity.
  - destruct (@run_rel _ _ (recovery c) (@capture_rel (witness c) s t H) _ _ Haft) as [_ Hrun].
    rewrite Hr in Hrun. simpl.
    destruct (run (capture (witness c) t) (map (map_op h) (recovery c)) (after (map_candidate h c) t)) as [t''|]; [|tauto].
    exists t''. split; auto. intros k. rewrite Hrun, Hb, H. reflexivity.
Qed.

(** ** The other direction: [h] injective on the values that occur *)
Variable P : A -> Prop.
Definition inj_on := forall a b, P a -> P b -> h a = h b -> a = b.
Definition lit_ok (x : src A) := match x with Lit v => P v | _ => True end.
Definition prog_ok (p : list (op A)) := forall o, In o p -> lit_ok (source o).
Definition valid (s : kstate A) := forall k a, s k = Some a -> P a.
Definition evalid (e : env A) := forall w a, e w = Some (Some a) -> P a.

Lemma run_valid e p : evalid e -> prog_ok p -> forall s s', valid s -> run e p s = Some s' -> valid s'.
Proof.
  intros He. induction p as [|o p IH]; simpl; intros Hp s s' Hs H.
  - injection H as <-. exact Hs.
  - unfold step in H. destruct (forallb _ _); [|discriminate].
    destruct (fetch e s (source o)) as [x|] eqn:E; [|discriminate].
    apply (IH (fun o' Ho => Hp o' (or_intror Ho)) _ _) in H; auto.
    intros k a Ha. destruct (Nat.eq_dec k (target o)) as [->|N].
    + rewrite put_same in Ha. subst x. pose proof (Hp o (or_introl eq_refl)) as Hl.
      destruct (source o); simpl in *; try congruence.
      * apply He in E. exact E.
      * apply Hs with j. congruence.
    + rewrite put_other in Ha by auto. eauto.
Qed.

Lemma capture_valid ws s : valid s -> evalid (capture ws s).
Proof.
  intros Hs. induction ws as [|[w k] ws IH]; simpl; intros w' a H; [discriminate|].
  destruct (capture ws s w') eqn:E.
  - injection H as ->. eapply IH; eauto.
  - destruct (Nat.eq_dec w' w); [|discriminate]. injection H as H. eauto.
Qed.

Lemma map_inj (x y : option A) : inj_on -> (forall a, x = Some a -> P a) -> (forall a, y = Some a -> P a) ->
  option_map h x = option_map h y -> x = y.
Proof.
  intros Hi Hx Hy H. destruct x, y; simpl in H; try congruence.
  injection H as H. f_equal. apply Hi; auto.
Qed.

Theorem RT_reflected c s t : inj_on -> prog_ok (mutation c) -> prog_ok (recovery c) -> valid s ->
  rel s t -> RT (map_candidate h c) t -> RT c s.
Proof.
  intros Hi Hm Hr Hs H (Ht & Hd & t'' & Hrun & Hb).
  pose proof (@after_rel c s t H) as Haft.
  assert (valid (after c s)) as Hva.
  { unfold after. destruct (run nowit (mutation c) s) eqn:E; auto.
    eapply run_valid; [|apply Hm|apply Hs|apply E]. intros w a Ha; discriminate. }
  split; [|split].
  - simpl in Ht. destruct (@run_rel nowit nowit (mutation c) nowit_rel s t H) as [E _]. rewrite E in Ht. exact Ht.
  - intros k Hk. apply Hd. intros E. apply Hk. apply map_inj; auto.
    + apply Hva.
    + apply Hs.
    + rewrite <- Haft, <- H. exact E.
  - destruct (@run_rel _ _ (recovery c) (@capture_rel (witness c) s t H) _ _ Haft) as [_ Hrr].
    simpl in Hrun. rewrite Hrun in Hrr.
    destruct (run (capture (witness c) s) (recovery c) (after c s)) as [s''|] eqn:E; [|tauto].
    exists s''. split; auto. intros k. apply map_inj; auto.
    + apply (@run_valid _ _ (capture_valid (witness c) Hs) Hr _ _ Hva E).
    + apply Hs.
    + rewrite <- Hrr, <- H. apply Hb.
Qed.

End Naturality.

(** Injective renaming of values commutes with round trips, both ways. *)
Theorem renaming (A B : Type) (h : A -> B) : (forall a b, h a = h b -> a = b) ->
  forall c s t, rel h s t -> (RT c s <-> RT (map_candidate h c) t).
Proof.
  intros Hi c s t H. split; [apply RT_kept, H|].
  apply RT_reflected with (P := fun _ => True); auto.
  - intros a b _ _. apply Hi.
  - intros o _. destruct (source o); simpl; auto.
  - intros o _. destruct (source o); simpl; auto.
  - intros k a _. exact I.
Qed.

(** * Generic states

    The generic state of a shape gives every slot that is there a content of its own, [inl k], equal to no
    other and to no literal ([inr v]): the terms of docs/proof.md, step 6. *)
Section Generic.
Context {V : Type}.

Definition embed (c : candidate V) : candidate (nat + V) := map_candidate inr c.
Definition gen (sh : nat -> bool) : kstate (nat + V) := fun k => if sh k then Some (inl k) else None.
Definition shape (t : kstate V) : nat -> bool := fun k => there (t k).

Definition valuation (d : V) (t : kstate V) (x : nat + V) : V :=
  match x with inl k => match t k with Some v => v | None => d end | inr v => v end.

Lemma map_op_id (h : nat + V -> V) (p : list (op V)) : (forall v, h (inr v) = v) ->
  map (map_op h) (map (map_op inr) p) = p.
Proof.
  intros Hh. rewrite map_map. rewrite <- (map_id p) at 2. apply map_ext. intros [tg gs x].
  unfold map_op; simpl. f_equal. destruct x; simpl; auto. now rewrite Hh.
Qed.

Lemma embed_back (h : nat + V -> V) c : (forall v, h (inr v) = v) -> map_candidate h (embed c) = c.
Proof. intros Hh. destruct c. unfold embed, map_candidate; simpl. now rewrite !map_op_id. Qed.

Lemma gen_rel d (t : kstate V) sh : (forall k, shape t k = sh k) -> rel (valuation d t) (gen sh) t.
Proof.
  intros Hs k. unfold gen. rewrite <- Hs. unfold shape. destruct (t k) eqn:E; simpl; auto. now rewrite E.
Qed.

(** The generic state is the worst case of its shape: what holds there holds on every state of the shape,
    values equal to each other or to literals included. *)
Theorem generic_worst (c : candidate V) (t : kstate V) sh : (forall k, shape t k = sh k) ->
  RT (embed c) (gen sh) -> RT c t.
Proof.
  intros Hs H.
  (* a default value is needed only where something is there *)
  destruct (find (fun k => there (t k)) (names c)) as [k|] eqn:Ef.
  - apply find_some in Ef as [_ Ek]. destruct (t k) as [d|] eqn:E; [|discriminate].
    rewrite <- (@embed_back (valuation d t) c) by reflexivity.
    apply RT_kept with (s := gen sh); auto. apply gen_rel, Hs.
  - pose proof (find_none _ _ Ef) as Hnone.
    (* nothing named is there: the frame lets us empty the rest *)
    set (e := fun _ : nat => @None V).
    apply RT_frame with (s := e).
    { intros k Hk. specialize (Hnone k Hk). simpl in Hnone. unfold e. destruct (t k); [discriminate|reflexivity]. }
    assert (He : RT (embed c) (fun _ : nat => @None (nat + V))).
    { apply RT_frame with (s := gen sh); auto. intros k Hk. unfold gen. rewrite <- Hs. unfold shape.
      rewrite (Hnone k); auto. unfold names, embed in Hk. simpl in Hk. unfold names.
      assert (forall p, prog_names (map (map_op (@inr nat V)) p) = prog_names p) as En.
      { clear. induction p as [|o p IH]; simpl; auto. unfold prog_names in *. simpl. rewrite IH. f_equal.
        unfold op_names. simpl. destruct (source o); reflexivity. }
      rewrite !En in Hk. exact Hk. }
    (* literals may still be written, so values may exist without any state having one *)
    assert (Hr : rel (@inr nat V) e (fun _ : nat => @None (nat + V))) by (intros k; reflexivity).
    apply (proj2 (@renaming _ _ (@inr nat V) ltac:(intros; congruence) c _ _ Hr)). exact He.
Qed.

(** And only that: a state with contents that are pairwise different and different from the literals
    tells everything about its shape. *)
Definition literals (c : candidate V) : list V :=
  flat_map (fun o => match source o with Lit v => [v] | _ => [] end) (mutation c ++ recovery c).
Definition generic_state (c : candidate V) (t : kstate V) :=
  (forall j k v, t j = Some v -> t k = Some v -> j = k) /\
  (forall k v, t k = Some v -> ~ In v (literals c)).

Theorem generic_decides (c : candidate V) (t : kstate V) : generic_state c t ->
  (RT c t <-> RT (embed c) (gen (shape t))).
Proof.
  intros [Hinj Hlit]. split; [|apply generic_worst; auto].
  intros H.
  set (P := fun x : nat + V => match x with inl k => t k <> None | inr v => In v (literals c) end).
  (* a default value is not needed: map partially through options *)
  set (h := fun x : nat + V => match x with inl k => t k | inr v => Some v end).
  assert (Hrel : rel (@Some V) t (fun k => option_map (@Some V) (t k))) by (intros k; reflexivity).
  assert (H1 : RT (map_candidate (@Some V) c) (fun k => option_map (@Some V) (t k))).
  { apply (proj1 (@renaming _ _ (@Some V) ltac:(intros; congruence) c _ _ Hrel) H). }
  assert (Emap : map_candidate h (embed c) = map_candidate (@Some V) c).
  { unfold embed, map_candidate; simpl. f_equal; rewrite map_map; apply map_ext; intros [tg gs x];
    unfold map_op; simpl; f_equal; destruct x; reflexivity. }
  rewrite <- Emap in H1.
  apply RT_reflected with (h := h) (P := P) (t := fun k => option_map (@Some V) (t k)); auto.
  - intros [j|v] [k|w]; simpl; intros Ha Hb E.
    + f_equal. destruct (t j) as [v|] eqn:Ej; [|congruence]. symmetry in E. eapply Hinj; eauto.
    + destruct (Hlit _ _ E Hb).
    + symmetry in E. destruct (Hlit _ _ E Ha).
    + congruence.
  - intros o Ho. simpl in Ho. apply in_map_iff in Ho as (o' & <- & Ho'). simpl.
    destruct (source o') eqn:E; simpl; auto. unfold literals. apply in_flat_map. exists o'.
    split; [apply in_or_app; auto|]. rewrite E. simpl. auto.
  - intros o Ho. simpl in Ho. apply in_map_iff in Ho as (o' & <- & Ho'). simpl.
    destruct (source o') eqn:E; simpl; auto. unfold literals. apply in_flat_map. exists o'.
    split; [apply in_or_app; auto|]. rewrite E. simpl. auto.
  - intros k a Ha. unfold gen, shape in Ha. destruct (t k) eqn:E; simpl in Ha; [|discriminate].
    injection Ha as <-. simpl. congruence.
  - intros k. unfold gen, shape. destruct (t k) eqn:E; simpl; auto. now rewrite E.
Qed.

(** With enough values, round trips on all states and on the generic states of all shapes are the same thing. *)
Definition enough_values := forall l : list V, exists f : nat -> V,
  (forall j k, f j = f k -> j = k) /\ forall k, ~ In (f k) l.

Theorem data_independence (c : candidate V) : enough_values ->
  ((forall t, RT c t) <-> forall sh, RT (embed c) (gen sh)).
Proof.
  intros Hv. split.
  - intros H sh. destruct (Hv (literals c)) as (f & Hf & Hl).
    set (t := fun k => if sh k then Some (f k) else None).
    assert (G : generic_state c t).
    { split.
      - intros j k v. unfold t. destruct (sh j), (sh k); try discriminate. intros Ej Ek. apply Hf. congruence.
      - intros k v. unfold t. destruct (sh k); [|discriminate]. intros E. injection E as <-. apply Hl. }
    pose proof (proj1 (generic_decides G) (H t)) as Hr.
    apply RT_frame with (s := gen (shape t)); auto.
    intros k _. unfold gen, shape, t. destruct (sh k); reflexivity.
  - intros H t. apply generic_worst with (sh := shape t); auto.
Qed.

End Generic.

(** * Values equal to a literal

    On one state equality with a literal does matter: after "set slot 0 to 7" with an empty recovery the round
    trip holds where slot 0 was 7 already, and nowhere else. It can only turn a failing trip into a holding
    one, so no class is needed for it. *)
Example equal_to_literal_matters_on_one_state :
  let c := Candidate [Op 0 [] (Lit 7)] [] [] [0] in
  RT c (fun _ => Some 7) /\ ~ RT c (fun _ => Some 8).
Proof.
  split.
  - split; [simpl; tauto|]. split.
    + intros k Hk. destruct (Nat.eq_dec k 0) as [->|N]; [simpl; auto|].
      destruct Hk. unfold after; simpl. unfold put, upd. destruct (Nat.eq_dec k 0); reflexivity.
    + eexists. split; [reflexivity|]. intros k. unfold after; simpl. unfold put, upd. destruct (Nat.eq_dec k 0); reflexivity.
  - intros (_ & _ & s'' & Hr & Hb). simpl in Hr. injection Hr as <-. specialize (Hb 0). discriminate.
Qed.
