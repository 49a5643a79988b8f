(** * Chapter 12. What nobody names, and finitely many classes

    Below the named paths a tree may have anything. All of it comes back or is lost together with the innermost
    named container it stands in, so one stranger in that container tells ([keeps_child]). Hence finitely many
    classes are enough for one tree ([finite_lines_decide]): the base, and the base with one named path [q] ending
    as nothing, as a leaf, as an empty container or as a container with a stranger in it. The contents of leaves
    may be generic (chapter 8). And whole runs on states are enough, nothing has to be run "as if" the mutation had
    failed ([whole_runs_decide]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Trees TreeCheck TreeLines TreePaths.
Import ListNotations.
Set Implicit Arguments.

Section Frame.
Context {V : Type}.
Variable files : bool.
Notation T := (tree V).
Notation runs := (runs files).
Notation brought_back := (brought_back files).
Implicit Types (x y z b e : option T) (t : T) (p q c s : path) (o : tree_op (V := V)).

(** ** What stands below an unnamed name *)

(** An operation that is neither at or above [c] nor in [u] below it does nothing there. *)
Lemma aside o x0 y y' c u s : own_path o -> ~ below (op_path o) (c ++ [u]) -> ~ below c (op_path o) ->
  tree_step files o x0 y = Some y' -> see y' (c ++ u :: s) = see y (c ++ u :: s).
Proof.
  intros Ho Hn Hb Hy.
  assert (Hap : ~ below (c ++ u :: s) (op_path o) /\ ~ above (c ++ u :: s) (op_path o)).
  { split.
    - intros [q E]. destruct (paths_cases (op_path o) c) as [H|[(n & q2 & E2)|[_ H]]]; [auto| |].
      + rewrite E2, <- app_assoc in E. apply app_inv_head in E. simpl in E. injection E as E1 E3. subst n. apply Hn.
        rewrite E2. exists q2. now rewrite <- app_assoc.
      + assert (prefix (op_path o) (c ++ u :: s) = true) as P1 by (apply prefix_spec; eauto).
        clear -P1 Hb H. revert c P1 Hb H. induction (op_path o) as [|n l IH]; intros c P1 Hb H; [apply Hb; now exists c|].
        destruct c as [|m c]; [apply H; now exists n, l|]. simpl in P1. apply andb_true_iff in P1 as [E P1]. apply Nat.eqb_eq in E. subst m.
        apply (IH c P1).
        * intros [q ->]. apply Hb. now exists q.
        * intros (k & q & ->). apply H. now exists k, q.
    - intros (n & q & E). apply Hn. rewrite E. exists (s ++ n :: q). rewrite <- !app_assoc. reflexivity. }
  destruct o as [r t|r|r q]; simpl in Hap.
  - apply tree_step_write in Hy as (w & -> & Hy). apply (tree_put_apart _ _ Hap Hy).
  - apply tree_step_unset in Hy. subst. apply drop_other. tauto.
  - simpl in Ho. subst q. apply tree_step_restore in Hy as [(t & w & G & -> & Hy)|[G ->]];
      [apply (tree_put_apart _ _ Hap Hy)|apply cleared_apart, Hap].
Qed.

(** Where [z] still has the stranger [w] in [c], [y] still has what it had in [u]. *)
Definition keeps_child (c : path) (u w : nat) (v : V) (x0 y z : option T) : Prop :=
  see z (c ++ [w]) = Value v -> forall s, see y (c ++ u :: s) = see x0 (c ++ u :: s).

Lemma step_keeps_child o x0 z0 y z y' z' c u w v : own_path o -> ~ below (op_path o) (c ++ [u]) -> stranger c w o ->
  see x0 c = Folder -> tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' ->
  keeps_child c u w v x0 y z -> keeps_child c u w v x0 y' z'.
Proof.
  intros Ho Hu [Hw Hlit] Hx Hy Hz Hk Hv s.
  destruct (prefix (op_path o) c) eqn:Ep.
  - apply prefix_spec in Ep as [q E]. destruct o as [r t|r|r r']; simpl in E, Hlit, Ho; subst c.
    + apply tree_step_write in Hz as (w' & -> & Hz). rewrite <- app_assoc, (tree_put_below _ _ _ _ Hz) in Hv.
      specialize (Hlit q eq_refl). rewrite Hv in Hlit. discriminate.
    + apply tree_step_unset in Hz. subst z'. rewrite <- app_assoc, drop_below in Hv.
      unfold gone in Hv. destruct (see z (r ++ q ++ [w])); try discriminate. destruct (_ <=? _); discriminate.
    + subst r'. apply tree_step_restore in Hy. destruct (folder_above _ _ _ Hx) as [tx Gx].
      destruct Hy as [(t & w' & G & -> & Hy)|[G _]]; [|congruence].
      rewrite <- app_assoc, (tree_put_below _ _ _ _ Hy), <- (see_app r (q ++ u :: s) _ G). reflexivity.
  - assert (Hb : ~ below c (op_path o)).
    { intros [q E]. assert (prefix (op_path o) c = true) by (apply prefix_spec; eauto). congruence. }
    rewrite (@aside o x0 y y' c u s Ho Hu Hb Hy). apply Hk. rewrite <- Hv. symmetry.
    apply (@aside o z0 z z' c w [] Ho Hw Hb Hz).
Qed.

Lemma runs_keeps_child m x0 z0 c u w v : Forall own_path m -> (forall o, In o m -> ~ below (op_path o) (c ++ [u])) ->
  Forall (stranger c w) m -> see x0 c = Folder -> forall y z y' z', keeps_child c u w v x0 y z ->
  runs m x0 y = Some y' -> runs m z0 z = Some z' -> keeps_child c u w v x0 y' z'.
Proof.
  intros Hm. induction Hm as [|o m Ho _ IH]; simpl; intros Hu Hs Hx y z y' z' Hk Hy Hz.
  - injection Hy as <-. injection Hz as <-. exact Hk.
  - inversion Hs as [|? ? Hs1 Hs2]; subst.
    destruct (tree_step files o x0 y) as [y1|] eqn:Ey; [|discriminate]. destruct (tree_step files o z0 z) as [z1|] eqn:Ez; [|discriminate].
    eapply IH; [| | | |exact Hy|exact Hz]; auto.
    eapply step_keeps_child; [exact Ho|auto|exact Hs1|exact Hx|exact Ey|exact Ez|exact Hk].
Qed.

(** The stranger itself: what stands in its place is its own content, or no value at all. *)
Lemma step_stranger o z0 z z' c w v : own_path o -> stranger c w o -> see z0 (c ++ [w]) = Value v ->
  tree_step files o z0 z = Some z' -> (forall u, see z (c ++ [w]) = Value u -> u = v) -> forall u, see z' (c ++ [w]) = Value u -> u = v.
Proof.
  intros Ho [Hw Hlit] H0 Hz Hk u Hu. destruct (prefix (op_path o) c) eqn:Ep.
  - apply prefix_spec in Ep as [q E]. destruct o as [r t|r|r r']; simpl in E, Hlit, Ho; subst c.
    + apply tree_step_write in Hz as (w' & -> & Hz). rewrite <- app_assoc, (tree_put_below _ _ _ _ Hz) in Hu.
      specialize (Hlit q eq_refl). rewrite Hu in Hlit. discriminate.
    + apply tree_step_unset in Hz. subst z'. rewrite <- app_assoc, drop_below in Hu.
      unfold gone in Hu. destruct (see z (r ++ q ++ [w])); try discriminate. destruct (_ <=? _); discriminate.
    + subst r'. rewrite <- app_assoc in H0, Hu. apply tree_step_restore in Hz as [(t & w' & G & -> & Hz)|[G ->]].
      * rewrite (tree_put_below _ _ _ _ Hz), <- (see_app r (q ++ [w]) _ G) in Hu. congruence.
      * rewrite cleared_below in Hu. unfold gone in Hu. destruct (see z (r ++ q ++ [w])); try discriminate. destruct (_ <=? _); discriminate.
  - assert (Hb : ~ below c (op_path o)).
    { intros [q E]. assert (prefix (op_path o) c = true) by (apply prefix_spec; eauto). congruence. }
    apply Hk. rewrite <- Hu. symmetry. apply (@aside o z0 z z' c w [] Ho Hw Hb Hz).
Qed.

Lemma runs_stranger m z0 c w v : Forall own_path m -> Forall (stranger c w) m -> see z0 (c ++ [w]) = Value v ->
  forall z z', runs m z0 z = Some z' -> (forall u, see z (c ++ [w]) = Value u -> u = v) -> forall u, see z' (c ++ [w]) = Value u -> u = v.
Proof.
  intros Hm Hs H0. induction Hm as [|o m Ho _ IH]; simpl; intros z z' Hz Hk.
  - injection Hz as <-. exact Hk.
  - inversion Hs as [|? ? Hs1 Hs2]; subst. destruct (tree_step files o z0 z) as [z1|] eqn:Ez; [|discriminate].
    apply (IH Hs2 z1 z' Hz). eapply step_stranger; eauto.
Qed.

(** ** Named and unnamed paths *)
Definition named_path (m : list (tree_op (V := V))) (p : path) : Prop := p = [] \/ exists o, In o m /\ below (op_path o) p.

Lemma named_prefix m p s : named_path m (p ++ s) -> named_path m p.
Proof.
  intros [E|(o & Ho & q & E)].
  - left. now apply app_eq_nil in E as [-> _].
  - right. exists o. split; auto. exists (s ++ q). now rewrite app_assoc.
Qed.

Lemma named_or_not m p : named_path m p \/
  exists c u s, p = c ++ u :: s /\ named_path m c /\ forall o, In o m -> ~ below (op_path o) (c ++ [u]).
Proof.
  induction p as [|u p IH] using rev_ind; [now left; left|].
  destruct IH as [Hp|(c & u0 & s & -> & Hc & Hn)].
  - destruct (existsb (fun o => prefix (p ++ [u]) (op_path o)) m) eqn:E.
    + left. right. apply existsb_exists in E as (o & Ho & E). apply prefix_spec in E as [q E]. exists o. split; auto. now exists q.
    + right. exists p, u, []. split; [reflexivity|]. split; [exact Hp|]. intros o Ho [q Hq].
      assert (existsb (fun o => prefix (p ++ [u]) (op_path o)) m = true); [|congruence].
      apply existsb_exists. exists o. split; auto. apply prefix_spec. eauto.
  - right. exists c, u0, (s ++ [u]). split; [now rewrite <- app_assoc|auto].
Qed.

(** ** The classes *)

(** The base with containers on the way to [p], and [e] there. *)
Fixpoint ending (b : option T) (p : path) (e : option T) : option T :=
  match p with
  | [] => e
  | n :: p' => Some (Dir (match ending (lookup n (children b)) p' e with
                          | Some t => set n t (children b)
                          | None => remove n (children b)
                          end))
  end.

Lemma see_ending_down b n p e q : see (ending b (n :: p) e) (n :: q) = see (ending (lookup n (children b)) p e) q.
Proof.
  cbn [ending see]. destruct (ending (lookup n (children b)) p e) as [t|]; [now rewrite lookup_set_same|now rewrite lookup_remove_same].
Qed.

Lemma see_ending p e s : forall b, see (ending b p e) (p ++ s) = see e s.
Proof. induction p as [|n p IH]; intros b; [reflexivity|]. simpl app. rewrite see_ending_down. apply IH. Qed.

(** Elsewhere: a container where the way to [p] leads, else as in the base, or nothing. *)
Lemma see_ending_else p e : forall b q, ~ below q p ->
  (above q p /\ see (ending b p e) q = Folder) \/ see (ending b p e) q = see b q \/ see (ending b p e) q = Nowhere.
Proof.
  induction p as [|n p IH]; intros b q Hq; [destruct Hq; now exists q|].
  destruct q as [|k q]; [left; split; [now exists n, p|reflexivity]|].
  destruct (Nat.eq_dec k n) as [->|N].
  - rewrite see_ending_down. destruct (IH (lookup n (children b)) q) as [[(m & s & E) H]|[H|H]].
    + intros [s E]. apply Hq. exists s. now rewrite E.
    + left. split; [|exact H]. exists m, s. now rewrite E.
    + right. rewrite H. apply see_children.
    + auto.
  - right. cbn [ending see]. assert (E : lookup k (match ending (lookup n (children b)) p e with
        | Some t => set n t (children b) | None => remove n (children b) end) = lookup k (children b)).
    { destruct (ending (lookup n (children b)) p e); [now apply lookup_set_other|now apply lookup_remove_other]. }
    rewrite E. apply see_children.
Qed.

(** Varying a base along a line is ending it at some name of that line. *)
Lemma along_ending p : forall b x, exists q e, below p q /\ along b x p = ending b q e /\
  (e = None \/ (exists v, e = Some (Leaf v)) \/ e = Some (Dir [])).
Proof.
  induction p as [|n p IH]; intros b [[v|l]|].
  - exists [], (Some (Leaf v)). split; [now exists []|]. eauto.
  - exists [], (Some (Dir [])). split; [now exists []|]. auto.
  - exists [], None. split; [now exists []|]. auto.
  - exists [], (Some (Leaf v)). split; [now exists (n :: p)|]. eauto.
  - destruct (IH (lookup n (children b)) (lookup n l)) as (q & e & [s E] & Ha & He). exists (n :: q), e.
    split; [exists s; now rewrite E|]. split; [|exact He]. cbn [along ending]. now rewrite Ha.
  - exists [], None. split; [now exists (n :: p)|]. auto.
Qed.

Variable w : nat.         (* a name that neither the candidate nor its contract uses *)
Definition simple (e : option T) : Prop :=
  e = None \/ (exists v, e = Some (Leaf v)) \/ e = Some (Dir []) \/ exists v, e = Some (Dir [(w, Leaf v)]).

Lemma folder_on_the_way x p n s : see x (p ++ n :: s) = Folder -> see x p = Folder.
Proof.
  intros H. destruct (folder_above _ _ _ H) as [[v|l] G].
  - rewrite (see_app p (n :: s) _ G) in H. discriminate.
  - pose proof (skel_see p x) as S. rewrite G in S. destruct (see x p); simpl in S; congruence.
Qed.

Theorem finite_lines_decide m r (covered : path -> Prop) b yb (g : V) :
  Forall plain m -> Forall own_path r -> runs m b b = Some yb ->
  (forall c, Forall (stranger c w) (m ++ r)) ->
  (forall c u s, covered (c ++ [w]) -> covered (c ++ u :: s)) ->
  (forall q e z, named_path (m ++ r) q -> simple e -> runs m (ending b q e) (ending b q e) = Some z ->
     (forall p, differ (get (ending b q e) p) (get z p) -> covered p) /\ brought_back r (ending b q e) z) ->
  forall x y, runs m x x = Some y -> (forall p, differ (get x p) (get y p) -> covered p) /\ brought_back r x y.
Proof.
  intros Hm Hr Hb Hw Hcov Hall x y Hy.
  assert (Hm' : Forall own_path m) by (eapply Forall_impl; [|exact Hm]; intros [?|?|? ?]; simpl; tauto).
  (* along named lines *)
  assert (Hnamed : forall p, named_path (m ++ r) p -> exists z z1, see z p = see x p /\ (see x p = Folder -> hollow z p) /\
     runs m z z = Some z1 /\ (forall q, differ (get z q) (get z1 q) -> covered q) /\ brought_back r z z1).
  { intros p Hp. destruct (@along_goes V files m b x p yb y Hm Hb Hy) as [z1 Hz1].
    destruct (along_stands_for p b x) as [H1 H2]. destruct (along_ending p b x) as (q & e & [s Eq] & Ea & He).
    exists (along b x p), z1. split; [exact H1|]. split; [exact H2|]. split; [exact Hz1|]. rewrite Ea in Hz1 |- *.
    apply Hall; auto; [subst p; eapply named_prefix, Hp|]. destruct He as [He|[He|He]]; unfold simple; auto. }
  (* in a container with a stranger *)
  assert (Hin : forall c, named_path (m ++ r) c -> see x c = Folder -> exists z z1, see z c = Folder /\ see z (c ++ [w]) = Value g /\
     runs m z z = Some z1 /\ (forall q, differ (get z q) (get z1 q) -> covered q) /\ brought_back r z z1).
  { intros c Hc Hf. set (e := Some (Dir [(w, Leaf g)])). set (z := ending b c e).
    assert (Hz : exists z1, runs m z z = Some z1).
    { apply goes_where_lines_do; auto. intros o Ho. destruct (prefix c (op_path o)) eqn:E.
      - apply prefix_spec in E as [s E]. unfold freer, z. rewrite E, see_ending. destruct s as [|n s].
        + exists x, y. split; [exact Hy|]. left. rewrite app_nil_r, Hf. reflexivity.
        + exists b, yb. split; [exact Hb|]. right. simpl. destruct (w =? n) eqn:En; [|apply see_none].
          apply Nat.eqb_eq in En. subst n. exfalso. pose proof (Hw c) as Hc'. rewrite Forall_forall in Hc'.
          destruct (Hc' o) as [N _]; [apply in_or_app; auto|]. apply N. rewrite E. exists s. now rewrite <- app_assoc.
      - destruct (@see_ending_else c e b (op_path o)) as [[(n & s & Ec) H]|[H|H]].
        + intros [s Ec]. assert (prefix c (op_path o) = true) by (apply prefix_spec; eauto). congruence.
        + exists x, y. split; [exact Hy|]. left. unfold z. rewrite H. symmetry. rewrite Ec in Hf. eapply folder_on_the_way, Hf.
        + exists b, yb. split; [exact Hb|]. left. exact H.
        + exists b, yb. split; [exact Hb|]. right. exact H. }
    destruct Hz as [z1 Hz1]. exists z, z1. split; [|split; [|split; [exact Hz1|]]].
    - unfold z. rewrite <- (app_nil_r c) at 2. rewrite see_ending. reflexivity.
    - unfold z. rewrite see_ending. simpl. now rewrite Nat.eqb_refl.
    - apply Hall; auto. unfold simple, e. eauto 6. }
  assert (Hfol : forall p z z1, see z p = see x p -> runs m z z = Some z1 -> follows files (m ++ r) p x z y z1).
  { intros p z z1 He Hz. apply (@follows_runs V files (m ++ r) p x z m Hm' (incl_appl r (incl_refl m)) He x z); auto using follows_start. }
  (* a path that is not named, in nothing that is a container, is as nothing on a named line *)
  assert (Hother : forall c u s, named_path (m ++ r) c -> see x c <> Folder -> exists z z1, see z (c ++ u :: s) = see x (c ++ u :: s) /\
     see x (c ++ u :: s) <> Folder /\ runs m z z = Some z1 /\ (forall q, differ (get z q) (get z1 q) -> covered q) /\ brought_back r z z1).
  { intros c u s Hc Hf. destruct (Hnamed c Hc) as (z & z1 & He & _ & Hz & Hd & Hbk). exists z, z1.
    assert (Hval : forall x1 v, see x1 c = Value v -> see x1 (c ++ u :: s) = Behind (length (u :: s))).
    { intros x1 v E. pose proof (skel_see c x1) as S. rewrite E in S. destruct (get x1 c) as [[v'|l]|] eqn:G; try discriminate.
      now rewrite (see_app c (u :: s) _ G). }
    split; [|split; [|auto]].
    - destruct (see x c) as [|k|v|] eqn:E; [| | |congruence].
      + now rewrite (see_nowhere_app _ _ _ E), (see_nowhere_app _ _ _ He).
      + now rewrite (see_behind_app _ _ _ E), (see_behind_app _ _ _ He).
      + now rewrite (Hval x v E), (Hval z v He).
    - intros Hf2. apply Hf. eapply folder_on_the_way, Hf2. }
  assert (Hsplit : forall c, see x c = Folder \/ see x c <> Folder).
  { intros c. destruct (see x c); auto; right; discriminate. }
  split.
  - (* what a diff shows *)
    intros p Hd. destruct (named_or_not (m ++ r) p) as [Hp|(c & u & s & -> & Hc & Hn)].
    + destruct (Hnamed p Hp) as (z & z1 & He & Hh & Hz & Hdz & _). apply Hdz.
      apply (@differ_alike V files (m ++ r) p x z y z1); auto.
    + destruct (Hsplit c) as [Hf|Hf].
      * destruct (Hin c Hc Hf) as (z & z1 & Hzc & Hzw & Hz & Hdz & _).
        destruct (Forall_app (stranger c w) m r) as [Hw1 _]. destruct (Hw1 (Hw c)) as [Hwm _].
        assert (Hval : forall v, see z1 (c ++ [w]) = Value v -> v = g).
        { apply (@runs_stranger m z c w g Hm' Hwm Hzw z z1 Hz). intros v Hv. congruence. }
        assert (Hgone : see z1 (c ++ [w]) <> Value g -> covered (c ++ u :: s)).
        { intros N. apply Hcov, Hdz. pose proof (skel_see (c ++ [w]) z) as S1. pose proof (skel_see (c ++ [w]) z1) as S2. rewrite Hzw in S1.
          destruct (get z (c ++ [w])) as [[a|?]|]; try discriminate. simpl in S1. injection S1 as ->.
          destruct (see z1 (c ++ [w])) as [|k|v|] eqn:E; destruct (get z1 (c ++ [w])) as [[a'|?]|]; simpl in *; try discriminate; try congruence. }
        destruct (see z1 (c ++ [w])) as [|k|v|] eqn:E; try (apply Hgone; discriminate).
        rewrite (Hval v eq_refl) in E. exfalso.
        pose proof (@runs_keeps_child m x z c u w g Hm' (fun o Ho => Hn o (in_or_app _ _ _ (or_introl Ho)))
          Hwm Hf x z y z1 (fun _ s => eq_refl) Hy Hz E s) as Hs.
        apply (f_equal shown) in Hs. rewrite <- !skel_see in Hs. unfold differ in Hd.
        destruct (get x (c ++ u :: s)) as [[?|[|? ?]]|], (get y (c ++ u :: s)) as [[?|[|? ?]]|]; simpl in *; congruence || tauto.
      * destruct (Hother c u s Hc Hf) as (z & z1 & He & Hnf & Hz & Hdz & _). apply Hdz.
        apply (@differ_alike V files (m ++ r) (c ++ u :: s) x z y z1); auto. intros Hx. destruct (Hnf Hx).
  - (* what comes back *)
    assert (Hincl : incl r (m ++ r)) by (apply incl_appr, incl_refl).
    destruct (@goes_by_lines V files (m ++ r) r x y Hr Hincl) as [x' Hx'].
    { intros o Ho. destruct (Hnamed (op_path o)) as (z & z1 & He & _ & Hz & _ & z' & Hz' & _).
      - right. exists o. split; [apply in_or_app; auto|]. exists []. now rewrite app_nil_r.
      - exists z, z1, z'. auto. }
    exists x'. split; [exact Hx'|].
    assert (Hback : forall p z z1, see z p = see x p -> (see x p = Folder -> hollow z p) -> runs m z z = Some z1 ->
              brought_back r z z1 -> skel (get x' p) = skel (get x p)).
    { intros p z z1 He Hh Hz (z' & Hz' & Hsame).
      pose proof (@follows_runs V files (m ++ r) p x z r Hr Hincl He _ _ _ _ (Hfol p z z1 He Hz) Hx' Hz') as (Ha & _ & _ & Hl).
      specialize (Hsame p). rewrite !skel_see in *. rewrite He in Hsame.
      destruct (see x p) eqn:E; try (rewrite (Ha p); [exact Hsame|congruence|congruence]).
      destruct (proj1 (proj2 (Hl eq_refl)) (Hh eq_refl)) as [->|[En _]]; [exact Hsame|]. rewrite En in Hsame. discriminate. }
    intros p. destruct (named_or_not (m ++ r) p) as [Hp|(c & u & s & -> & Hc & Hn)].
    + destruct (Hnamed p Hp) as (z & z1 & He & Hh & Hz & _ & Hbk). apply (Hback p z z1); auto.
    + destruct (Hsplit c) as [Hf|Hf].
      * destruct (Hin c Hc Hf) as (z & z1 & Hzc & Hzw & Hz & _ & z' & Hz' & Hsame).
        destruct (Forall_app (stranger c w) m r) as [Hw1 _]. destruct (Hw1 (Hw c)) as [Hwm Hwr].
        assert (Hk : keeps_child c u w g x y z1).
        { apply (@runs_keeps_child m x z c u w g Hm' (fun o Ho => Hn o (in_or_app _ _ _ (or_introl Ho))) Hwm Hf x z y z1 (fun _ s => eq_refl) Hy Hz). }
        pose proof (@runs_keeps_child r x z c u w g Hr (fun o Ho => Hn o (in_or_app _ _ _ (or_intror Ho))) Hwr Hf y z1 x' z' Hk Hx' Hz') as Hk2.
        rewrite !skel_see. f_equal. apply Hk2. specialize (Hsame (c ++ [w])). rewrite !skel_see, Hzw in Hsame.
        destruct (see z' (c ++ [w])); simpl in Hsame; congruence.
      * destruct (Hother c u s Hc Hf) as (z & z1 & He & Hnf & Hz & _ & Hbk). apply (Hback (c ++ u :: s) z z1); auto. intros Hx. destruct (Hnf Hx).
Qed.

(** The same for a recovery that runs where nothing was changed. *)
Corollary finite_lines_idle r b (g : V) : Forall own_path r -> (forall c, Forall (stranger c w) r) ->
  (forall q e, named_path r q -> simple e -> brought_back r (ending b q e) (ending b q e)) ->
  forall x, brought_back r x x.
Proof.
  intros Hr Hw H x.
  destruct (@finite_lines_decide [] r (fun _ => True) b b g) with (x := x) (y := x) as [_ Hb]; auto.
  intros q e z Hq He Hz. simpl in Hz. injection Hz as <-. split; [intros p Hd; exact I|apply H; auto].
Qed.
End Frame.

(** ** Failing classes are states

    So far the recovery had to leave every line alone "as if the mutation had failed". These are states on which it
    does fail: if it fails on [x] because of the line of [q], it fails wherever that line is as in [x], and a tree
    with that line that stands for [x] along [p] is the base varied along at most two lines. *)
Section Failing.
Context {V : Type}.
Variable files : bool.
Notation T := (tree V).
Notation runs := (runs files).
Notation brought_back := (brought_back files).
Implicit Types (x y z b e : option T) (t : T) (p q s : path).

Lemma along_on_line p : forall b x q s, p = q ++ s -> see (along b x p) q = see x q.
Proof.
  induction p as [|n p IH]; intros b [[v|l]|] q s E; auto.
  - symmetry in E. apply app_eq_nil in E as [-> _]. reflexivity.
  - destruct q as [|k q]; [reflexivity|]. injection E as <- E. rewrite see_along_down. apply (IH _ _ q s E).
Qed.

(** Beside the line, where both have the container, the base is left as it is. *)
Lemma along_aside w n s (rest : path) : w <> n -> forall p b x, see b p = Folder -> see x p = Folder ->
  see (along b x (p ++ n :: s)) (p ++ w :: rest) = see b (p ++ w :: rest).
Proof.
  intros N. induction p as [|k p IH]; intros [[v|lb]|] [[u|lx]|] Hb Hx; simpl in Hb, Hx; try discriminate.
  - cbn [app along see children]. destruct (along (lookup n lb) (lookup n lx) s); [now rewrite lookup_set_other|now rewrite lookup_remove_other].
  - simpl app. rewrite see_along_down. cbn [children see]. apply IH; auto.
Qed.

(** Varying along [p] keeps a line apart that was as in [x] already. *)
Lemma along_keeps p : forall b x q, ~ below q p /\ ~ above q p -> see b q = see x q -> see (along b x p) q = see x q.
Proof.
  induction p as [|n p IH]; intros b x q Ha He; [destruct (apart_nil_r Ha)|].
  destruct q as [|k q]; [destruct (apart_nil_l Ha)|].
  destruct x as [[v|l]|]; auto.
  assert (Hstop : forall v, b = Some (Leaf v) -> False).
  { intros v ->. change (Behind (length (k :: q)) = see (lookup k l) q) in He. symmetry in He. apply see_behind_bound in He. simpl in He. lia. }
  assert (Hc : forall m, see (lookup m (children b)) q = see b (m :: q)).
  { intros m. destruct b as [[v|lb]|]; [destruct (Hstop v eq_refl)|reflexivity|simpl; now rewrite see_none]. }
  destruct (Nat.eq_dec k n) as [->|N].
  - rewrite see_along_down. rewrite (IH _ (lookup n l) q (apart_cons Ha)); [reflexivity|]. rewrite Hc. exact He.
  - cbn [along see]. rewrite <- (Hc k) in He. change (see (Some (Dir l)) (k :: q)) with (see (lookup k l) q) in He. rewrite <- He.
    destruct (along (lookup n (children b)) (lookup n l) p); [now rewrite lookup_set_other|now rewrite lookup_remove_other].
Qed.

(** Where a mutation fails, it fails wherever one line shows the same. *)
Lemma fails_along_a_line m x : Forall plain m -> runs m x x = None ->
  exists o, In o m /\ forall z, see z (op_path o) = see x (op_path o) -> runs m z z = None.
Proof.
  intros Hm Hx.
  assert (exists m1 o m2 x1, m = m1 ++ o :: m2 /\ runs m1 x x = Some x1 /\ tree_step files o x x1 = None) as (m1 & o & m2 & x1 & -> & H1 & H2).
  { revert Hx. clear Hm. assert (G : forall y, runs m x y = None -> exists m1 o m2 y1, m = m1 ++ o :: m2 /\ runs m1 x y = Some y1 /\ tree_step files o x y1 = None).
    { induction m as [|o m IH]; simpl; intros y Hy; [discriminate|]. destruct (tree_step files o x y) as [y1|] eqn:E.
      - destruct (IH y1 Hy) as (m1 & o1 & m2 & y2 & -> & H1 & H2). exists (o :: m1), o1, m2, y2. simpl. rewrite E. auto.
      - exists [], o, m, y. auto. }
    apply G. }
  exists o. split; [apply in_or_app; simpl; auto|]. intros z Hz. rewrite runs_app. destruct (runs m1 z z) as [z1|] eqn:Ez; [|reflexivity]. cbn [TreePaths.runs].
  apply Forall_app in Hm as [Hm1 Hm2]. inversion Hm2 as [|? ? Ho _]; subst.
  destruct (tree_step files o z z1) as [z2|] eqn:E; [|reflexivity]. exfalso.
  assert (Hf : freer (op_path o) z x) by (left; auto).
  pose proof (@runs_freer V files m1 (op_path o) Hm1 _ _ _ _ _ _ Hf Ez H1) as Hf1.
  apply (@goes_freer V files o z x z1 x1 Ho Hf1); congruence.
Qed.

Variable w : nat.         (* a name that the recovery does not use *)
Variable g : V.

(** The base varied along one line; along two lines of one tree; along one line, with a stranger above its end. *)
Inductive two_lines b : option T -> Prop :=
| one_line x p : two_lines b (along b x p)
| both_lines x q p : two_lines b (along (along b x q) x p)
| line_and_stranger x q p : two_lines b (along (ending b p (Some (Dir [(w, Leaf g)]))) x q).

Theorem failing_by_two_lines m r b : Forall plain m -> Forall own_path r -> (forall c, Forall (stranger c w) (m ++ r)) ->
  (forall z, two_lines b z -> runs m z z = None -> brought_back r z z) ->
  forall x, runs m x x = None -> brought_back r x x.
Proof.
  intros Hm Hr Hw H x Hx.
  assert (exists q, (forall z, see z q = see x q -> runs m z z = None) /\ forall c, ~ below q (c ++ [w])) as (q & Hq & Hn).
  { destruct (@fails_along_a_line m x Hm Hx) as (o & Ho & Hz). exists (op_path o). split; [exact Hz|]. intros c.
    pose proof (Hw c) as Hc. rewrite Forall_forall in Hc. destruct (Hc o) as [N _]; [apply in_or_app; auto|exact N]. }
  apply (@idle_by_lines V files r x Hr). intros p. destruct (paths_cases q p) as [[s E]|[(n & s & E)|Hap]].
  - (* p at or below q *)
    exists (along b x p). destruct (along_stands_for p b x) as [H1 H2]. split; [split; [exact H1|intros Hf; left; auto]|].
    apply H; [constructor|]. apply Hq. apply (@along_on_line p b x q s E).
  - (* p strictly above q *)
    assert (Hfold : see x p = Folder \/ see x p <> Folder) by (destruct (see x p); auto; right; discriminate).
    destruct Hfold as [Hf|Hf].
    + set (b' := ending b p (Some (Dir [(w, Leaf g)]))).
      assert (Nw : w <> n).
      { intros ->. apply (Hn p). rewrite E. exists s. now rewrite <- app_assoc. }
      exists (along b' x q). destruct (along_stands_for q b' x) as [H1 _].
      pose proof (@along_on_line q b' x p (n :: s) E) as H2. split.
      * split; [exact H2|]. intros _. right. exists w, g. split.
        -- pose proof (Hw p) as Hp. apply Forall_app in Hp as [_ Hp]. exact Hp.
        -- rewrite E. rewrite (@along_aside w n s [] Nw p b' x); auto.
           ++ unfold b'. rewrite see_ending. simpl. now rewrite Nat.eqb_refl.
           ++ unfold b'. rewrite <- (app_nil_r p) at 2. rewrite see_ending. reflexivity.
      * apply H; [constructor|]. apply Hq, H1.
    + exists (along b x q). pose proof (@along_on_line q b x p (n :: s) E) as H2.
      split; [split; [exact H2|intros Hf2; destruct (Hf Hf2)]|]. apply H; [constructor|]. apply Hq, along_stands_for.
  - (* apart *)
    exists (along (along b x q) x p). destruct (along_stands_for p (along b x q) x) as [H1 H2].
    split; [split; [exact H1|intros Hf; left; auto]|]. apply H; [constructor|]. apply Hq. apply along_keeps.
    + destruct Hap as [A1 A2]. split.
      * intros [[|k s] E]; [apply A1; rewrite E, app_nil_r; exists []; now rewrite app_nil_r|apply A2; now exists k, s].
      * intros (k & s & E). apply A1. now exists (k :: s).
    + apply along_stands_for.
Qed.
End Failing.

(** ** Whole runs on states decide, nothing else

    A base on which the mutation goes through; every top name varied alone, along at most two lines; and along one
    line beside another top name that makes the mutation fail, if there is one. *)
Section States.
Context {V : Type}.
Variable files : bool.
Variable c : tree_candidate (V := V).
Variables (w : nat) (g : V).
Let M := map (tree_forward files) (tmutation c).
Let R := map (tree_recovery files) (trecovery c).
Hypothesis M_plain : Forall (fun ro => plain (snd ro)) (tmutation c).
Hypothesis R_own : Forall (fun ro => own_path (snd ro)) (trecovery c).
Hypothesis nobody : forall i p, Forall (stranger p w) (at_name i (tmutation c) ++ at_name i (trecovery c)).

Theorem whole_runs_decide b : goes Nat.eq_dec M b -> TRT files c b ->
  (forall i z, two_lines w g (b i) z -> TRT files c (upd Nat.eq_dec b i z)) ->
  (forall i, (exists j y, j <> i /\ can_fail Nat.eq_dec M j y) ->
     exists j y, j <> i /\ can_fail Nat.eq_dec M j y /\
       forall x p, TRT files c (upd Nat.eq_dec (upd Nat.eq_dec b j y) i (along (b i) x p))) ->
  forall s, TRT files c s.
Proof.
  intros Hb Hbase Halone Hbeside s.
  assert (Hcov : covers_all M (tcon (tcontract c))) by (apply (proj1 (@covers_all_exact _ _ _ Nat.eq_dec M (tcon (tcontract c)) b Hb)), Hbase).
  split; [apply covers_all_traced, Hcov|]. fold M R.
  assert (Hgo : forall i z, slice_exec Nat.eq_dec M i z <> None -> exec Nat.eq_dec M (upd Nat.eq_dec b i z) <> None).
  { intros i z Hz. destruct (@exec_goes _ _ _ Nat.eq_dec M (upd Nat.eq_dec b i z)) as [u Hu]; [|congruence].
    intros j _. destruct (Nat.eq_dec j i) as [->|N]; [now rewrite upd_same|]. rewrite upd_other by auto.
    destruct (exec Nat.eq_dec M b) as [b'|] eqn:Eb; [|destruct Hb; exact Eb]. rewrite (exec_some _ _ _ Eb j). discriminate. }
  destruct (exec Nat.eq_dec M s) as [s'|] eqn:E.
  - (* it goes through *)
    destruct (exec Nat.eq_dec M b) as [b'|] eqn:Eb; [|destruct Hb; exact Eb].
    apply RT_back_through; [congruence|]. intros i y Hy.
    pose proof (exec_some _ _ _ Eb i) as Hbi. unfold M in Hbi, Hy. rewrite (slice_goes files c M_plain) in Hbi, Hy.
    destruct (@paths_add_up V files (at_name i (tmutation c)) (at_name i (trecovery c))
       (fun q => tcon (tcontract c) (i :: q)) (b i) (b' i) (at_name_all _ i M_plain) (at_name_all _ i R_own) Hbi) with (x := s i) (y := y) as [H1 H2].
    + intros x p z Hz. rewrite <- (slice_goes files c M_plain) in Hz. fold M in Hz.
      destruct (Halone i (along (b i) x p) (one_line w g (b i) x p)) as [_ Hrt]. fold M R in Hrt.
      assert (Hg : exec Nat.eq_dec M (upd Nat.eq_dec b i (along (b i) x p)) <> None) by (apply Hgo; congruence).
      apply (RT_back_through Nat.eq_dec _ _ _ _ _ _ Hg) with (i := i) in Hrt. rewrite upd_same in Hrt.
      destruct (Hrt z Hz) as [A1 A2]. split; [intros q Hq; apply A1; exists q; auto|apply (slice_back_brought files c), A2].
    + exact Hy.
    + split; [|apply (slice_back_brought files c), H2]. intros a (q & -> & Hq). auto.
  - (* it fails *)
    apply (RT_back_failed Nat.eq_dec _ _ _ _ _ s E). intros i. unfold good_idle. apply (slice_back_brought files c).
    destruct (slice_exec Nat.eq_dec M i (s i)) as [y|] eqn:Ei.
    + destruct (exec_none Nat.eq_dec _ _ E) as (j & Hj & _ & _ & _).
      assert (Nj : j <> i) by (intros ->; congruence).
      destruct (Hbeside i) as (j' & y' & N & Hf & Hall); [exists j, (s j); auto|].
      apply idle_adds_up with (b := b i); [apply at_name_all, R_own|]. intros x p.
      destruct (Hall x p) as [_ Hrt]. fold M R in Hrt.
      assert (Hn : exec Nat.eq_dec M (upd Nat.eq_dec (upd Nat.eq_dec b j' y') i (along (b i) x p)) = None).
      { apply (@slice_exec_fails _ _ _ Nat.eq_dec M _ j'). rewrite upd_other, upd_same by auto. exact Hf. }
      apply (RT_back_failed Nat.eq_dec _ _ _ _ _ _ Hn) with (i := i) in Hrt. rewrite upd_same in Hrt. apply (slice_back_brought files c), Hrt.
    + unfold M in Ei. rewrite (slice_goes files c M_plain) in Ei.
      apply (@failing_by_two_lines V files w g (at_name i (tmutation c)) (at_name i (trecovery c)) (b i)); auto using at_name_all.
      intros z Hz Hzf. rewrite <- (slice_goes files c M_plain) in Hzf. fold M in Hzf.
      destruct (Halone i z Hz) as [_ Hrt]. fold M R in Hrt.
      assert (Hn : exec Nat.eq_dec M (upd Nat.eq_dec b i z) = None) by (apply (@slice_exec_fails _ _ _ Nat.eq_dec M _ i); now rewrite upd_same).
      apply (RT_back_failed Nat.eq_dec _ _ _ _ _ _ Hn) with (i := i) in Hrt. rewrite upd_same in Hrt. apply (slice_back_brought files c), Hrt.
Qed.
End States.
