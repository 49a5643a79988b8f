(** * Chapter 5. Slots that foreign captures tie together

    A restore may use the capture of another slot, and an operation may look at one. Such slots are taken together
    as one component: [g] gives every slot the name of its group. Groups are varied one at a time, all shapes of
    one group jointly; the number of runs adds up over groups and multiplies only inside one. The procedure is
    sound and complete for every keyed candidate, and the groups are found by merging ([grouped_nat]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence KeyedDecision FiniteSearch.
Import ListNotations.
Set Implicit Arguments.

Section Groups.
Context {V : Type}.
Variable g : nat -> nat.
Variable c : candidate V.

(** What an operation looks at, besides its own slot; a capture counts for the restores that use it. *)
Definition looks_at (ws : list (nat * nat)) (o : op V) : list nat :=
  map fst (guards o) ++
  match source o with
  | Slot j => [j]
  | Wit w => match captured ws w with Some k => [k] | None => [] end
  | _ => []
  end.
Definition tied (ws : list (nat * nat)) (o : op V) : Prop := forall k, In k (looks_at ws o) -> g k = g (target o).
Hypothesis mutation_tied : Forall (tied []) (mutation c).
Hypothesis recovery_tied : Forall (tied (witness c)) (recovery c).

(** A component is a group; its local content is a state of which only the slots of the group count. *)
Definition gfop (o : op V) : fop nat (kstate V) nat :=
  {| fi := g (target o); faddr := [target o]; frun := step nowit o |}.
Definition grop (o : op V) : rop nat (kstate V) :=
  {| ri := g (target o); rrun := fun x0 x => step (capture (witness c) x0) o x |}.
Definition glue (S : nat -> kstate V) : kstate V := fun k => S (g k) k.

Definition gsame (i : nat) (x y : kstate V) : Prop := forall k, g k = i -> x k = y k.
Definition gdif (i : nat) (x y : kstate V) (a : nat) : Prop := g a = i /\ x a <> y a.

Lemma step_glue ws o S0 S s0 s : tied ws o -> (forall k, s0 k = glue S0 k) -> (forall k, s k = glue S k) ->
  match step (capture ws (S0 (g (target o)))) o (S (g (target o))), step (capture ws s0) o s with
  | Some x, Some s' => forall k, s' k = glue (upd Nat.eq_dec S (g (target o)) x) k
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros Ht H0 H. unfold step. set (i := g (target o)) in *.
  assert (forallb (holds (S i)) (guards o) = forallb (holds s) (guards o)) as ->.
  { apply eq_true_iff_eq. rewrite !forallb_forall.
    assert (forall p, In p (guards o) -> holds (S i) p = holds s p) as Hg.
    { intros p Hp. unfold holds. rewrite H. unfold glue. rewrite (Ht (fst p)); auto.
      unfold looks_at. apply in_or_app. left. apply in_map, Hp. }
    split; intros A p Hp; specialize (A p Hp); specialize (Hg p Hp); congruence. }
  destruct (forallb (holds s) (guards o)); auto.
  assert (fetch (capture ws (S0 i)) (S i) (source o) = fetch (capture ws s0) s (source o)) as ->.
  { unfold tied, looks_at in Ht. destruct (source o) as [v| |w|j] eqn:E; simpl; auto.
    - rewrite !capture_captured. destruct (captured ws w) as [k|] eqn:Ec; simpl; auto.
      rewrite H0. unfold glue. rewrite (Ht k); auto. apply in_or_app. right. simpl. auto.
    - rewrite H. unfold glue. rewrite (Ht j); auto. apply in_or_app. right. simpl. auto. }
  destruct (fetch (capture ws s0) s (source o)) as [x|]; auto.
  intros k. unfold glue. destruct (Nat.eq_dec k (target o)) as [->|N].
  - rewrite put_same. fold i. rewrite upd_same, put_same. reflexivity.
  - rewrite put_other by auto. rewrite H. unfold glue. destruct (Nat.eq_dec (g k) i) as [->|Ni].
    + rewrite upd_same, put_other by auto. reflexivity.
    + rewrite upd_other by auto. reflexivity.
Qed.

Lemma run_glue p : Forall (tied []) p -> forall S s, (forall k, s k = glue S k) ->
  trace nowit p s = traced Nat.eq_dec (map gfop p) S /\
  match exec Nat.eq_dec (map gfop p) S, run nowit p s with
  | Some S', Some s' => forall k, s' k = glue S' k
  | None, None => True
  | _, _ => False
  end.
Proof.
  induction 1 as [|o p Ho _ IH]; simpl; intros S s H; auto.
  pose proof (@step_glue [] o S S s s Ho H H) as Hs. simpl in Hs.
  destruct (step nowit o (S (g (target o)))) as [x|], (step nowit o s) as [s'|]; try tauto; auto.
  destruct (IH _ _ Hs) as [-> Hr]. auto.
Qed.

Lemma rrun_glue p : Forall (tied (witness c)) p -> forall S0 S s0 s,
  (forall k, s0 k = glue S0 k) -> (forall k, s k = glue S k) ->
  match rexec Nat.eq_dec (map grop p) S0 S, run (capture (witness c) s0) p s with
  | Some S', Some s' => forall k, s' k = glue S' k
  | None, None => True
  | _, _ => False
  end.
Proof.
  induction 1 as [|o p Ho _ IH]; simpl; intros S0 S s0 s H0 H; auto.
  pose proof (@step_glue (witness c) o S0 S s0 s Ho H0 H) as Hs.
  destruct (step _ o (S (g (target o)))) as [x|], (step _ o s) as [s'|]; try tauto; auto.
  apply IH; auto.
Qed.

Notation GRT := (RT_trace Nat.eq_dec (map gfop (mutation c)) (map grop (recovery c)) (con c) gdif gsame).

Theorem RT_groups S : RT c (glue S) <-> GRT S.
Proof.
  assert (H : forall k, glue S k = glue S k) by reflexivity.
  destruct (@run_glue _ mutation_tied S (glue S) H) as [Et Hr].
  unfold RT, RT_trace, RT_back, covered, back, con, after. rewrite Et. apply and_iff_compat_l.
  destruct (exec Nat.eq_dec (map gfop (mutation c)) S) as [S'|], (run nowit (mutation c) (glue S)) as [s'|]; try tauto.
  - pose proof (@rrun_glue _ recovery_tied S S' (glue S) s' H Hr) as Hb.
    assert (Hd : (forall k, s' k <> glue S k -> In k (contract c)) <->
                 (forall i a, gdif i (S i) (S' i) a -> In a (contract c))).
    { unfold gdif. split.
      - intros A i a [<- N]. apply A. rewrite Hr. unfold glue. congruence.
      - intros A k N. apply (A (g k) k). split; auto. rewrite Hr in N. unfold glue in N. congruence. }
    rewrite Hd. apply and_iff_compat_l.
    destruct (rexec Nat.eq_dec (map grop (recovery c)) S S') as [S''|], (run (capture (witness c) (glue S)) (recovery c) s') as [s''|]; try tauto.
    + split.
      * intros (u & E & A). injection E as <-. exists S''. split; auto. intros i k <-. specialize (A k). rewrite Hb in A. exact A.
      * intros (u & E & A). injection E as <-. exists s''. split; auto. intros k. rewrite Hb. unfold glue. apply A. reflexivity.
    + split; intros (u & E & _); discriminate.
  - pose proof (@rrun_glue _ recovery_tied S S (glue S) (glue S) H H) as Hb.
    destruct (rexec Nat.eq_dec (map grop (recovery c)) S S) as [S''|], (run (capture (witness c) (glue S)) (recovery c) (glue S)) as [s''|]; try tauto.
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

Definition op_links (ws : list (nat * nat)) (o : op V) : list (nat * nat) := map (pair (target o)) (looks_at ws o).
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
  search (map (gfop g) (mutation c')) (map (grop g c') (recovery c'))
         (fun S => rtb (term_dec V_dec) c' (glue g S)) (fun _ => nobody) shapes.

Theorem grouped_correct : enough_values (V := V) -> (grouped = true <-> forall t, RT c t).
Proof.
  intros Hv. rewrite (data_independence c Hv). fold c'.
  destruct (group_tied c') as [Hm Hr]. fold g in Hm, Hr.
  unfold grouped.
  rewrite (@search_correct _ _ (map (gfop g) (mutation c')) (map (grop g c') (recovery c')) (con c') (gdif g) (gsame g)
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
