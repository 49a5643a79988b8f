(** * Chapter 6. Slots that foreign captures tie together

    A restore may use the capture of another slot, and a move the content of one. Such slots are taken together as
    one component: [g] gives every slot the name of its group. Groups are varied one at a time, all shapes of one
    group jointly; the number of runs adds up over groups and multiplies only inside one. The procedure is sound and
    complete for every keyed candidate, and the groups are found by merging ([grouped_nat]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence KeyedDecision FiniteSearch.
Import ListNotations.
Set Implicit Arguments.

Section Groups.
Context {V : Type}.
Variable g : nat -> nat.
Variable c : candidate V.

(** Where an operation takes its content from, if from another slot; a capture counts for the restores that use it.
    Whether another slot is there (an anchor) does not tie the two: that is a question to the other slot alone. *)
Definition takes_from (ws : list (nat * nat)) (o : op V) : list nat :=
  match source o with
  | Slot j => [j]
  | Wit w => match captured ws w with Some k => [k] | None => [] end
  | _ => []
  end.
Definition tied (ws : list (nat * nat)) (o : op V) : Prop := forall k, In k (takes_from ws o) -> g k = g (target o).
Hypothesis mutation_tied : Forall (tied []) (mutation c).
Hypothesis recovery_tied : Forall (tied (witness c)) (recovery c).

(** A component is a group; its local content is a state of which only the slots of the group count. An operation
    asks each slot it looks at, and then writes. *)
Definition ask (p : nat * bool) (x : kstate V) : option (kstate V) := if holds x p then Some x else None.
Definition write (e : env V) (o : op V) (x : kstate V) : option (kstate V) :=
  match fetch e x (source o) with Some v => Some (put x (target o) v) | None => None end.
Definition gask (p : nat * bool) : forward_op nat (kstate V) nat := {| fcomponent := g (fst p); faddresses := []; frun := ask p |}.
Definition rask (p : nat * bool) : recovery_op nat (kstate V) := {| rcomponent := g (fst p); rrun := fun _ => ask p |}.
Definition gfops (o : op V) : list (forward_op nat (kstate V) nat) :=
  map gask (guards o) ++
  [{| fcomponent := g (target o); faddresses := [target o]; frun := write nowit o |}].
Definition grops (o : op V) : list (recovery_op nat (kstate V)) :=
  map rask (guards o) ++
  [{| rcomponent := g (target o); rrun := fun x0 => write (capture (witness c) x0) o |}].
Definition glue (S : nat -> kstate V) : kstate V := fun k => S (g k) k.

Definition gsame (i : nat) (x y : kstate V) : Prop := forall k, g k = i -> x k = y k.
Definition gdif (i : nat) (x y : kstate V) (a : nat) : Prop := g a = i /\ x a <> y a.

Lemma holds_glue S s p : (forall k, s k = glue S k) -> holds (S (g (fst p))) p = holds s p.
Proof. intros H. unfold holds. now rewrite H. Qed.
Lemma ask_glue S s p : (forall k, s k = glue S k) -> ask p (S (g (fst p))) = if holds s p then Some (S (g (fst p))) else None.
Proof. intros H. unfold ask. now rewrite (@holds_glue S s p H). Qed.
Lemma glue_upd_same S i k : glue (upd Nat.eq_dec S i (S i)) k = glue S k.
Proof. unfold glue, upd. destruct (Nat.eq_dec (g k) i) as [->|_]; reflexivity. Qed.

(** The questions first: one that is answered no stops the run, the others change nothing. *)
Lemma asks_glue rest gs : forall S s, (forall k, s k = glue S k) ->
  let m := map gask gs ++ rest in
  if forallb (holds s) gs
  then exists S', (forall k, s k = glue S' k) /\ exec Nat.eq_dec m S = exec Nat.eq_dec rest S' /\ traced Nat.eq_dec m S = traced Nat.eq_dec rest S'
  else exec Nat.eq_dec m S = None /\ traced Nat.eq_dec m S = [].
Proof.
  induction gs as [|p gs IH]; intros S s H; cbn [forallb map app]; [eauto|].
  cbn [exec traced gask fcomponent frun faddresses app]. rewrite !(@ask_glue S s p H). destruct (holds s p); cbn [andb]; [|auto].
  apply IH. intros k. now rewrite glue_upd_same.
Qed.
Lemma rasks_glue S0 rest gs : forall S s, (forall k, s k = glue S k) ->
  let m := map rask gs ++ rest in
  if forallb (holds s) gs
  then exists S', (forall k, s k = glue S' k) /\ rexec Nat.eq_dec m S0 S = rexec Nat.eq_dec rest S0 S'
  else rexec Nat.eq_dec m S0 S = None.
Proof.
  induction gs as [|p gs IH]; intros S s H; cbn [forallb map app]; [eauto|].
  cbn [rexec rask rcomponent rrun]. rewrite (@ask_glue S s p H). destruct (holds s p); cbn [andb]; [|auto].
  apply IH. intros k. now rewrite glue_upd_same.
Qed.

Lemma write_glue ws o S0 S s0 s : tied ws o -> (forall k, s0 k = glue S0 k) -> (forall k, s k = glue S k) ->
  match write (capture ws (S0 (g (target o)))) o (S (g (target o))), write (capture ws s0) o s with
  | Some x, Some s' => forall k, s' k = glue (upd Nat.eq_dec S (g (target o)) x) k
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros Ht H0 H. unfold write. set (i := g (target o)) in *.
  assert (fetch (capture ws (S0 i)) (S i) (source o) = fetch (capture ws s0) s (source o)) as ->.
  { unfold tied, takes_from in Ht. destruct (source o) as [v| |w|j] eqn:E; simpl; auto.
    - rewrite !capture_captured. destruct (captured ws w) as [k|] eqn:Ec; simpl; auto.
      rewrite H0. unfold glue. rewrite (Ht k); simpl; auto.
    - rewrite H. unfold glue. rewrite (Ht j); simpl; auto. }
  destruct (fetch (capture ws s0) s (source o)) as [x|]; auto.
  intros k. unfold glue. destruct (Nat.eq_dec k (target o)) as [->|N].
  - rewrite put_same. fold i. rewrite upd_same, put_same. reflexivity.
  - rewrite put_other by auto. rewrite H. unfold glue. destruct (Nat.eq_dec (g k) i) as [->|Ni].
    + rewrite upd_same, put_other by auto. reflexivity.
    + rewrite upd_other by auto. reflexivity.
Qed.

Lemma step_write (e : env V) o s : step e o s = if forallb (holds s) (guards o) then write e o s else None.
Proof. reflexivity. Qed.

Lemma run_glue p : Forall (tied []) p -> forall S s, (forall k, s k = glue S k) ->
  trace nowit p s = traced Nat.eq_dec (flat_map gfops p) S /\
  match exec Nat.eq_dec (flat_map gfops p) S, run nowit p s with
  | Some S', Some s' => forall k, s' k = glue S' k
  | None, None => True
  | _, _ => False
  end.
Proof.
  induction 1 as [|o p Ho _ IH]; [simpl; auto|]. intros S s H.
  cbn [flat_map trace run]. unfold gfops at 1 3. rewrite <- !app_assoc. rewrite step_write.
  pose proof (@asks_glue ([{| fcomponent := g (target o); faddresses := [target o]; frun := write nowit o |}] ++ flat_map gfops p) (guards o) S s H) as Ha.
  cbn zeta in Ha. destruct (forallb (holds s) (guards o)).
  - destruct Ha as (S1 & H1 & -> & ->). cbn [app exec traced fcomponent frun faddresses].
    pose proof (@write_glue [] o S1 S1 s s Ho H1 H1) as Hw. simpl in Hw.
    destruct (write nowit o (S1 (g (target o)))) as [x|], (write nowit o s) as [s'|]; try tauto; auto.
    destruct (IH _ _ Hw) as [-> Hr]. auto.
  - destruct Ha as [-> ->]. auto.
Qed.

Lemma rrun_glue p : Forall (tied (witness c)) p -> forall S0 S s0 s,
  (forall k, s0 k = glue S0 k) -> (forall k, s k = glue S k) ->
  match rexec Nat.eq_dec (flat_map grops p) S0 S, run (capture (witness c) s0) p s with
  | Some S', Some s' => forall k, s' k = glue S' k
  | None, None => True
  | _, _ => False
  end.
Proof.
  induction 1 as [|o p Ho _ IH]; [simpl; auto|]. intros S0 S s0 s H0 H.
  cbn [flat_map run]. unfold grops at 1. rewrite <- app_assoc. rewrite step_write.
  pose proof (@rasks_glue S0 ([{| rcomponent := g (target o); rrun := fun x0 => write (capture (witness c) x0) o |}] ++ flat_map grops p) (guards o) S s H) as Ha.
  cbn zeta in Ha. destruct (forallb (holds s) (guards o)).
  - destruct Ha as (S1 & H1 & ->). cbn [app rexec rcomponent rrun].
    pose proof (@write_glue (witness c) o S0 S1 s0 s Ho H0 H1) as Hw.
    destruct (write _ o (S1 (g (target o)))) as [x|], (write _ o s) as [s'|]; try tauto; auto.
    apply IH; auto.
  - rewrite Ha. auto.
Qed.

Notation GRT := (RT_trace Nat.eq_dec (flat_map gfops (mutation c)) (flat_map grops (recovery c)) (con c) gdif gsame).

Theorem RT_groups S : RT c (glue S) <-> GRT S.
Proof.
  assert (H : forall k, glue S k = glue S k) by reflexivity.
  destruct (@run_glue _ mutation_tied S (glue S) H) as [Et Hr].
  unfold RT, RT_trace, RT_back, covered, back, con, after. rewrite Et. apply and_iff_compat_l.
  destruct (exec Nat.eq_dec (flat_map gfops (mutation c)) S) as [S'|], (run nowit (mutation c) (glue S)) as [s'|]; try tauto.
  - pose proof (@rrun_glue _ recovery_tied S S' (glue S) s' H Hr) as Hb.
    assert (Hd : (forall k, s' k <> glue S k -> In k (contract c)) <->
                 (forall i a, gdif i (S i) (S' i) a -> In a (contract c))).
    { unfold gdif. split.
      - intros A i a [<- N]. apply A. rewrite Hr. unfold glue. congruence.
      - intros A k N. apply (A (g k) k). split; auto. rewrite Hr in N. unfold glue in N. congruence. }
    rewrite Hd. apply and_iff_compat_l.
    destruct (rexec Nat.eq_dec (flat_map grops (recovery c)) S S') as [S''|], (run (capture (witness c) (glue S)) (recovery c) s') as [s''|]; try tauto.
    + split.
      * intros (u & E & A). injection E as <-. exists S''. split; auto. intros i k <-. specialize (A k). rewrite Hb in A. exact A.
      * intros (u & E & A). injection E as <-. exists s''. split; auto. intros k. rewrite Hb. unfold glue. apply A. reflexivity.
    + split; intros (u & E & _); discriminate.
  - pose proof (@rrun_glue _ recovery_tied S S (glue S) (glue S) H H) as Hb.
    destruct (rexec Nat.eq_dec (flat_map grops (recovery c)) S S) as [S''|], (run (capture (witness c) (glue S)) (recovery c) (glue S)) as [s''|]; try tauto.
    + split.
      * intros [_ (u & E & A)]. injection E as <-. exists S''. split; auto. intros i k <-. specialize (A k). rewrite Hb in A. exact A.
      * intros (u & E & A). injection E as <-. split; [intros k N; congruence|]. exists s''. split; auto.
        intros k. rewrite Hb. unfold glue. apply A. reflexivity.
    + split; [intros [_ (u & E & _)]|intros (u & E & _)]; discriminate.
Qed.
End Groups.

(** ** Finding the groups *)
Definition merge (g : nat -> nat) (ab : nat * nat) : nat -> nat :=
  fun k => if g k =? g (snd ab) then g (fst ab) else g k.
Definition merged (links : list (nat * nat)) : nat -> nat := fold_left merge links (fun k => k).

Lemma merge_keeps g ab x y : g x = g y -> merge g ab x = merge g ab y.
Proof. unfold merge. intros ->. reflexivity. Qed.
Lemma merges_keep links : forall g x y, g x = g y -> fold_left merge links g x = fold_left merge links g y.
Proof. induction links as [|ab l IH]; simpl; intros g x y H; auto. apply IH, merge_keeps, H. Qed.
Lemma merged_links links : forall g a b, In (a, b) links -> fold_left merge links g a = fold_left merge links g b.
Proof.
  induction links as [|ab l IH]; simpl; intros g x y; [intros []|]. intros [->|H]; auto.
  apply merges_keep. unfold merge. simpl. rewrite Nat.eqb_refl. destruct (g x =? g y); reflexivity.
Qed.

Section Search.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.

Definition op_links (ws : list (nat * nat)) (o : op V) : list (nat * nat) := map (pair (target o)) (takes_from ws o).
Definition links (c : candidate V) : list (nat * nat) :=
  flat_map (op_links []) (mutation c) ++ flat_map (op_links (witness c)) (recovery c).
Definition group (c : candidate V) : nat -> nat := merged (links c).

Lemma group_tied (c : candidate V) : Forall (tied (group c) []) (mutation c) /\ Forall (tied (group c) (witness c)) (recovery c).
Proof.
  split; apply Forall_forall; intros o Ho k Hk; symmetry; apply merged_links; unfold links; apply in_or_app; [left|right];
    apply in_flat_map; exists o; split; auto; apply in_map, Hk.
Qed.
End Search.

Section Decision.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable c : candidate V.
Notation T := (nat + V)%type.
Let c' : candidate T := embed c.
Let g := group c'.

(** The local contents of a group: every shape of its named slots, with contents of their own. *)
Definition members (i : nat) : list nat := filter (fun k => g k =? i) (nodup Nat.eq_dec (names c)).
Definition nobody : kstate T := fun _ => None.
Definition shapes (i : nat) : list (kstate T) := map (fun l => gen (fun k => mem k l)) (sublists (members i)).

Definition grouped : bool :=
  search (flat_map (gfops g) (mutation c')) (flat_map (grops g c') (recovery c'))
         (fun S => rtb (term_dec V_dec) c' (glue g S)) (fun _ => nobody) shapes.

Theorem grouped_correct : enough_values (V := V) -> (grouped = true <-> forall t, RT c t).
Proof.
  intros Hv. rewrite (data_independence c Hv). fold c'.
  destruct (group_tied c') as [Hm Hr]. fold g in Hm, Hr.
  unfold grouped.
  rewrite (@search_correct _ _ (flat_map (gfops g) (mutation c')) (flat_map (grops g c') (recovery c')) (con c') (gdif g) (gsame g)
     (fun _ _ _ _ => eq_refl) (fun _ _ _ H => proj2 H eq_refl)
     (fun S => rtb (term_dec V_dec) c' (glue g S))).
  2:{ intros S. rewrite rtb_spec. apply RT_groups; auto. }
  split.
  - intros H sh. set (S := fun i => gen (V := V) (fun k => mem k (filter sh (members i)))).
    assert (HS : RT c' (glue g S)).
    { apply RT_groups; auto. apply H. intros i. right. unfold shapes, S.
      apply (in_map (fun l => gen (fun k => mem k l))), sublists_filter. }
    refine (RT_frame _ HS). intros k Hk. unfold glue, S, gen. unfold c' in Hk. rewrite names_embed in Hk.
    assert (Hin : In k (members (g k))). { apply filter_In. split; [apply nodup_In, Hk|apply Nat.eqb_refl]. }
    destruct (sh k) eqn:E.
    + assert (mem k (filter sh (members (g k))) = true) as ->; auto. apply mem_spec, filter_In. auto.
    + destruct (mem k (filter sh (members (g k)))) eqn:Em; auto. apply mem_spec, filter_In in Em as [_ Em]. congruence.
  - intros H S HS. apply RT_groups; auto.
    refine (RT_frame _ (H (fun k => there (glue g S k)))). intros k _. unfold gen, glue.
    destruct (HS (g k)) as [<-|Hk]; [reflexivity|]. unfold shapes in Hk. apply in_map_iff in Hk as (l & <- & _).
    unfold gen. destruct (mem k l); reflexivity.
Qed.
End Decision.

Corollary grouped_nat (c : candidate nat) : grouped Nat.eq_dec c = true <-> forall t, RT c t.
Proof. apply grouped_correct, nat_enough. Qed.
