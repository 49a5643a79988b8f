(** * Chapter 11. Paths below one name add up

    For candidates whose restores use captures of their own path, everything that can go wrong is about one line:
    an operation fails because of what it meets on the line of its path, and what stands at [p] in the end is
    decided by what stood on the line of [p] (and, if that was a container, by what happens where it was empty,
    or had something in it that nobody names).

    So the classes of a tree add up instead of multiplying: it is enough to take a base and to vary it along one
    line ([paths_add_up], [idle_adds_up], [lines_decide]). Climbing to the furthest base goes along one line at a
    time, too ([climb_along_a_line], [climb_by_lines]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Trees TreeCheck TreeLines.
Import ListNotations.
Set Implicit Arguments.

Section Lines.
Context {V : Type}.
Notation T := (tree V).
Implicit Types (x y z : option T) (t w : T).

(** ** Programs on one tree *)
Variable files : bool.

Fixpoint runs (m : list (tree_op (V := V))) (x0 x : option T) : option (option T) :=
  match m with
  | [] => Some x
  | o :: m' => match tree_step files o x0 x with Some y => runs m' x0 y | None => None end
  end.

(** Restores use the capture of their own path; mutations restore nothing. *)
Definition own_path (o : tree_op (V := V)) : Prop := match o with Restore p q => p = q | _ => True end.
Definition plain (o : tree_op (V := V)) : Prop := match o with Restore _ _ => False | _ => True end.

Lemma runs_app m1 m2 x0 x : runs (m1 ++ m2) x0 x = match runs m1 x0 x with Some y => runs m2 x0 y | None => None end.
Proof. revert x. induction m1 as [|o m1 IH]; simpl; intros x; auto. destruct (tree_step files o x0 x); auto. Qed.

Lemma runs_plain m : Forall plain m -> forall x0 x1 x, runs m x0 x = runs m x1 x.
Proof.
  induction 1 as [|o m Ho _ IH]; simpl; intros x0 x1 x; auto.
  destruct o as [r t|r|r q]; [| |destruct Ho]; simpl; destruct (_ && _); auto.
  destruct (tree_put x r t); simpl; auto.
Qed.

(** ** The lines of two runs

    [x0] and [z0] are two trees before the change, [y] and [z] what has become of them. Along every line that
    shows the same in both, and no container at its end, the same is seen at every moment. *)
Definition alike (x0 z0 y z : option T) : Prop :=
  forall p, see x0 p = see z0 p -> see x0 p <> Folder -> see y p = see z p.

Lemma tree_step_write r t x0 y y' : tree_step files (Write r t) x0 y = Some y' -> exists w, y' = Some w /\ tree_put y r t = Some w.
Proof.
  simpl. destruct (_ && _); [discriminate|]. destruct (tree_put y r t) as [w|]; [|discriminate].
  intros H. injection H as <-. eauto.
Qed.
Lemma tree_step_unset r x0 y y' : tree_step files (Unset r) x0 y = Some y' -> y' = drop y r.
Proof. simpl. destruct (_ && _); congruence. Qed.
Lemma tree_step_restore r x0 y y' : tree_step files (Restore r r) x0 y = Some y' ->
  (exists t w, get x0 r = Some t /\ y' = Some w /\ tree_put y r t = Some w) \/
  (get x0 r = None /\ y' = prune (drop y r) r (missing x0 r)).
Proof.
  simpl. destruct (get x0 r) as [t|].
  - destruct (tree_put y r t) as [w|] eqn:E; [|discriminate]. intros H. injection H as <-. left. eauto 6.
  - destruct (_ && _); [discriminate|]. destruct (list_eq_dec Nat.eq_dec r r); [|congruence].
    intros H. injection H as <-. auto.
Qed.

Lemma above_not_below p n s : ~ below p (p ++ n :: s).
Proof.
  intros [q H]. apply (f_equal (@length nat)) in H. rewrite !app_length in H. simpl in H. lia.
Qed.
Lemma below_not_above (r s : path) : ~ above (r ++ s) r.
Proof.
  intros (n & q & H). apply (f_equal (@length nat)) in H. rewrite !app_length in H. simpl in H. lia.
Qed.

(** Where the walk to [r] is not stopped, dropping [r] leaves nothing at or below it. *)
Lemma gone_unstopped (y : option T) r s : (forall k, see y r <> Behind k) -> gone s (see y (r ++ s)) = Nowhere.
Proof.
  intros H. unfold gone. destruct (see y (r ++ s)) as [|k|v|] eqn:E; auto.
  destruct (k <=? length s) eqn:Ek; auto. apply Nat.leb_gt in Ek. exfalso.
  destruct (see y r) as [|j|v|] eqn:Er.
  - rewrite (see_nowhere_app _ _ _ Er) in E. discriminate.
  - apply (H j eq_refl).
  - pose proof (skel_see r y) as Hs. rewrite Er in Hs. destruct (get y r) as [[u|l]|] eqn:Eg; simpl in Hs; try discriminate.
    rewrite (see_app _ s _ Eg) in E. destruct s; simpl in E; [discriminate|]. injection E as <-. simpl in Ek. lia.
  - pose proof (skel_see r y) as Hs. rewrite Er in Hs. destruct (get y r) as [[u|l]|] eqn:Eg; simpl in Hs; try discriminate.
    rewrite (see_app _ s _ Eg) in E. apply see_behind_bound in E. lia.
Qed.

Lemma tree_put_unstopped (y : option T) r t w : tree_put y r t = Some w -> forall k, see y r <> Behind k.
Proof. intros H k Hk. assert (tree_put y r t = None) by (apply tree_put_fails; eauto). congruence. Qed.

Lemma bare_ext (y z : option T) p s : (forall u, see y (p ++ u) = see z (p ++ u)) ->
  get y p <> None -> bare (get y p) s -> bare (get z p) s.
Proof.
  intros H Hy Hb u. destruct (get y p) as [t|] eqn:Ey; [|congruence].
  destruct (get z p) as [t'|] eqn:Ez.
  - rewrite <- (see_app p u _ Ez), <- H, (see_app p u _ Ey). apply Hb.
  - exfalso. pose proof (skel_see p y) as S1. pose proof (skel_see p z) as S2. rewrite Ey in S1. rewrite Ez in S2.
    specialize (H []). rewrite !app_nil_r in H. rewrite <- H, <- S1 in S2. destruct t; discriminate.
Qed.

Lemma pruned_alike x0 z0 y z p n s : alike x0 z0 y z -> see x0 p = see z0 p -> get x0 p = None ->
  see (prune y (p ++ n :: s) (missing x0 (p ++ n :: s))) p = Nowhere ->
  see (prune z (p ++ n :: s) (missing z0 (p ++ n :: s))) p = Nowhere.
Proof.
  intros Ha He Hn Hp.
  assert (Hz : get z0 p = None). { apply get_none_see. apply get_none_see in Hn. rewrite <- He. exact Hn. }
  assert (Hext : forall u, see y (p ++ u) = see z (p ++ u)).
  { intros u. apply Ha.
    - apply get_none_see in Hn as [E|[k E]].
      + rewrite (see_nowhere_app p u x0 E). rewrite He in E. now rewrite (see_nowhere_app p u z0 E).
      + rewrite (see_behind_app p u x0 E). rewrite He in E. now rewrite (see_behind_app p u z0 E).
    - apply get_none_see in Hn as [E|[k E]].
      + rewrite (see_nowhere_app p u x0 E). discriminate.
      + rewrite (see_behind_app p u x0 E). discriminate. }
  assert (He0 : see y p = see z p) by (specialize (Hext []); rewrite !app_nil_r in Hext; exact Hext).
  destruct (prune_above (missing x0 (p ++ n :: s)) n s p y) as [E|(_ & _ & Hb)].
  - rewrite Hp in E. destruct (prune_above (missing z0 (p ++ n :: s)) n s p z) as [E2|[E2 _]]; [congruence|exact E2].
  - apply prune_above_bare; [apply missing_none, Hz|].
    destruct (get y p) eqn:Ey; [|specialize (Hb []); discriminate].
    apply (@bare_ext y z); auto; rewrite Ey; [discriminate|exact Hb].
Qed.

Lemma cleared_below (y : option T) r c s : see (prune (drop y r) r c) (r ++ s) = gone s (see y (r ++ s)).
Proof. rewrite prune_other by apply below_not_above. apply drop_below. Qed.
Lemma cleared_apart (y : option T) r c p : ~ below p r /\ ~ above p r -> see (prune (drop y r) r c) p = see y p.
Proof. intros [H1 H2]. rewrite prune_other by auto. now apply drop_other. Qed.

Lemma alike_drop x0 z0 y z r : alike x0 z0 y z -> alike x0 z0 (drop y r) (drop z r).
Proof.
  intros Ha p He Hf. specialize (Ha p He Hf). destruct (paths_cases r p) as [[s ->]|H].
  - now rewrite !drop_below, Ha.
  - rewrite !drop_other; auto; destruct H as [(n & s & ->)|[H _]]; auto using above_not_below.
Qed.

Lemma step_alike o x0 z0 y z y' z' : own_path o ->
  tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' -> alike x0 z0 y z -> alike x0 z0 y' z'.
Proof.
  intros Ho Hy Hz Ha. destruct o as [r t|r|r q].
  - apply tree_step_write in Hy as (w & -> & Hy). apply tree_step_write in Hz as (u & -> & Hz).
    intros p He Hf. destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + now rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
    + now rewrite (tree_put_above _ _ _ _ _ Hy), (tree_put_above _ _ _ _ _ Hz).
    + rewrite (tree_put_apart _ _ Hap Hy), (tree_put_apart _ _ Hap Hz). auto.
  - apply tree_step_unset in Hy. apply tree_step_unset in Hz. subst. now apply alike_drop.
  - simpl in Ho. subst q. intros p He Hf. specialize (Ha p He Hf) as Hp.
    apply tree_step_restore in Hy. apply tree_step_restore in Hz.
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + destruct Hy as [(t & w & Gx & -> & Hy)|[Gx ->]], Hz as [(t' & w' & Gz & -> & Hz)|[Gz ->]].
      * rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
        rewrite <- (see_app r s _ Gx), <- (see_app r s _ Gz). exact He.
      * rewrite (tree_put_below _ _ _ _ Hy), cleared_below, <- Hp, (gone_unstopped _ _ _ (tree_put_unstopped _ _ _ Hy)).
        rewrite <- (see_app r s _ Gx), He. apply get_none_see in Gz as [E|[k E]]; [apply see_nowhere_app, E|].
        exfalso. rewrite (see_behind_app r s z0 E), (see_app r s _ Gx) in He.
        apply see_behind_bound in He.
        assert (k <> 0). { intros ->. clear -E. revert z0 E. induction r as [|m r IH]; intros [[v|l]|] E; simpl in E; try discriminate. eauto. }
        lia.
      * rewrite (tree_put_below _ _ _ _ Hz), cleared_below, Hp, (gone_unstopped _ _ _ (tree_put_unstopped _ _ _ Hz)).
        rewrite <- (see_app r s _ Gz), <- He. symmetry. apply get_none_see in Gx as [E|[k E]]; [apply see_nowhere_app, E|].
        exfalso. rewrite (see_behind_app r s x0 E), (see_app r s _ Gz) in He. symmetry in He.
        apply see_behind_bound in He.
        assert (k <> 0). { intros ->. clear -E. revert x0 E. induction r as [|m r IH]; intros [[v|l]|] E; simpl in E; try discriminate. eauto. }
        lia.
      * now rewrite !cleared_below, Hp.
    + (* [p] is a container above the path *)
      assert (Gx : get x0 (p ++ n :: s) = None).
      { apply get_none_see. destruct (see x0 p) as [|k|v|] eqn:E; [left; apply see_nowhere_app, E|right; eexists; apply see_behind_app, E| |congruence].
        pose proof (skel_see p x0) as Hs. rewrite E in Hs. destruct (get x0 p) as [[u|l]|] eqn:Eg; simpl in Hs; try discriminate.
        right. rewrite (see_app p (n :: s) _ Eg). simpl. eauto. }
      assert (Gz : get z0 (p ++ n :: s) = None).
      { apply get_none_see. destruct (see z0 p) as [|k|v|] eqn:E; [left; apply see_nowhere_app, E|right; eexists; apply see_behind_app, E| |congruence].
        pose proof (skel_see p z0) as Hs. rewrite E in Hs. destruct (get z0 p) as [[u|l]|] eqn:Eg; simpl in Hs; try discriminate.
        right. rewrite (see_app p (n :: s) _ Eg). simpl. eauto. }
      destruct Hy as [(t & w & Gx' & _)|[_ ->]]; [congruence|]. destruct Hz as [(t & w & Gz' & _)|[_ ->]]; [congruence|].
      pose proof (@alike_drop x0 z0 y z (p ++ n :: s) Ha) as Hd.
      destruct (get x0 p) as [t|] eqn:Ep.
      * destruct (get z0 p) as [t'|] eqn:Ep'.
        2:{ exfalso. pose proof (skel_see p x0) as S1. pose proof (skel_see p z0) as S2. rewrite Ep, He in S1.
            rewrite Ep' in S2. rewrite <- S2 in S1. destruct t; discriminate. }
        pose proof (missing_some n s p x0 Ep) as M1. pose proof (missing_some n s p z0 Ep') as M2.
        destruct (prune_above (missing x0 (p ++ n :: s)) n s p (drop y (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
        destruct (prune_above (missing z0 (p ++ n :: s)) n s p (drop z (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
        apply Hd; auto.
      * assert (Ep' : get z0 p = None). { apply get_none_see. apply get_none_see in Ep. rewrite <- He. exact Ep. }
        destruct (prune_above (missing x0 (p ++ n :: s)) n s p (drop y (p ++ n :: s))) as [E|[E _]].
        -- destruct (prune_above (missing z0 (p ++ n :: s)) n s p (drop z (p ++ n :: s))) as [E2|[E2 _]].
           ++ rewrite E, E2. apply Hd; auto.
           ++ rewrite E2. symmetry in He.
              assert (Hd' : alike z0 x0 (drop z (p ++ n :: s)) (drop y (p ++ n :: s))) by (intros q Hq Hq2; symmetry; apply Hd; [auto|congruence]).
              apply (@pruned_alike z0 x0 _ _ p n s Hd' He Ep' E2).
        -- rewrite E. symmetry. apply (@pruned_alike x0 z0 _ _ p n s Hd He Ep E).
    + destruct Hy as [(t & w & Gx & -> & Hy)|[Gx ->]], Hz as [(t' & w' & Gz & -> & Hz)|[Gz ->]];
        rewrite ?(tree_put_apart _ _ Hap Hy), ?(tree_put_apart _ _ Hap Hz), ?cleared_apart by auto; auto.
Qed.

(** Where the line ends at a container, compare with a tree in which that container is empty: then nothing but
    what happens at or above it can bring it back. *)
Definition hollow (x : option T) (p : path) : Prop := see x p = Folder /\ forall n s, see x (p ++ n :: s) = Nowhere.
Definition at_least (p : path) (y z : option T) : Prop := see y p = see z p \/ (see z p = Nowhere /\ see y p = Folder).

Lemma folder_get x p : see x p = Folder -> exists l, get x p = Some (Dir l).
Proof.
  intros H. pose proof (skel_see p x) as S. rewrite H in S. destruct (get x p) as [[v|l]|]; simpl in S; try discriminate. eauto.
Qed.

Lemma folder_above x r s : see x (r ++ s) = Folder -> exists t, get x r = Some t.
Proof.
  intros H. destruct (get x r) as [t|] eqn:E; eauto. exfalso.
  apply get_none_see in E as [E|[k E]]; [rewrite (see_nowhere_app _ _ _ E) in H|rewrite (see_behind_app _ _ _ E) in H]; discriminate.
Qed.

Lemma step_at_least o x0 z0 y z y' z' p : own_path o -> see x0 p = Folder -> hollow z0 p ->
  tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' -> at_least p y z -> at_least p y' z'.
Proof.
  intros Ho Hx [Hz0 Hh] Hy Hz Ha. destruct o as [r t|r|r q].
  - apply tree_step_write in Hy as (w & -> & Hy). apply tree_step_write in Hz as (u & -> & Hz).
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + left. now rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
    + left. now rewrite (tree_put_above _ _ _ _ _ Hy), (tree_put_above _ _ _ _ _ Hz).
    + unfold at_least. rewrite (tree_put_apart _ _ Hap Hy), (tree_put_apart _ _ Hap Hz). exact Ha.
  - apply tree_step_unset in Hy. apply tree_step_unset in Hz. subst.
    destruct (paths_cases r p) as [[s ->]|H].
    + left. rewrite !drop_below. destruct Ha as [->|[-> ->]]; reflexivity.
    + unfold at_least. rewrite !drop_other; auto; destruct H as [(n & s & ->)|[H _]]; auto using above_not_below.
  - simpl in Ho. subst q. apply tree_step_restore in Hy. apply tree_step_restore in Hz.
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + destruct (folder_above _ _ _ Hx) as [tx Gx]. destruct (folder_above _ _ _ Hz0) as [tz Gz].
      destruct Hy as [(t & w & Gx' & -> & Hy)|[Gx' _]]; [|congruence].
      destruct Hz as [(t' & w' & Gz' & -> & Hz)|[Gz' _]]; [|congruence].
      left. rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
      rewrite <- (see_app r s _ Gx'), <- (see_app r s _ Gz'). congruence.
    + destruct (folder_get _ _ Hx) as [lx Gx]. destruct (folder_get _ _ Hz0) as [lz Gz].
      assert (Gz' : get z0 (p ++ n :: s) = None) by (apply get_none_see; left; apply Hh).
      destruct Hz as [(t' & w' & E & _)|[_ ->]]; [congruence|].
      pose proof (missing_some n s p z0 Gz) as M2.
      assert (Ez : see (prune (drop z (p ++ n :: s)) (p ++ n :: s) (missing z0 (p ++ n :: s))) p = see z p).
      { destruct (prune_above (missing z0 (p ++ n :: s)) n s p (drop z (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
        apply drop_other, above_not_below. }
      destruct Hy as [(t & w & _ & -> & Hy)|[_ ->]]; unfold at_least; rewrite Ez.
      * rewrite (tree_put_above _ _ _ _ _ Hy).
        destruct (see z p) as [|k|v|] eqn:E; auto; exfalso; destruct Ha as [Ha|[Ha _]]; try congruence.
        -- apply (@tree_put_unstopped _ _ _ _ Hy (k + length (n :: s))). apply see_behind_app. congruence.
        -- destruct (get y p) as [[u|l]|] eqn:Eg; pose proof (skel_see p y) as S; rewrite Eg, Ha, E in S; simpl in S; try discriminate.
           apply (@tree_put_unstopped _ _ _ _ Hy (length (n :: s))). rewrite (see_app p (n :: s) _ Eg). reflexivity.
      * pose proof (missing_some n s p x0 Gx) as M1.
        destruct (prune_above (missing x0 (p ++ n :: s)) n s p (drop y (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
        rewrite drop_other by apply above_not_below. exact Ha.
    + unfold at_least. destruct Hy as [(t & w & Gx & -> & Hy)|[Gx ->]], Hz as [(t' & w' & Gz & -> & Hz)|[Gz ->]];
        rewrite ?(tree_put_apart _ _ Hap Hy), ?(tree_put_apart _ _ Hap Hz), ?cleared_apart by auto; auto.
Qed.

(** A directory of files stays one as long as operations go through. *)
Definition kept_folders (x0 y : option T) : Prop := files = true -> forall p, see x0 p = Folder -> see y p = Folder.

Lemma step_kept_folders o x0 y y' : own_path o -> tree_step files o x0 y = Some y' -> kept_folders x0 y -> kept_folders x0 y'.
Proof.
  intros Ho Hy Hk Hfiles p Hp. specialize (Hk Hfiles).
  assert (Hdir : forall r s, p = r ++ s -> is_dir (get y r) = true).
  { intros r s ->. apply is_dir_see. apply Hk. destruct s as [|n s]; [now rewrite app_nil_r in Hp|].
    destruct (folder_above _ _ _ Hp) as [[v|l] G].
    - rewrite (see_app r (n :: s) _ G) in Hp. discriminate.
    - pose proof (skel_see r x0) as S. rewrite G in S. destruct (see x0 r); simpl in S; congruence. }
  destruct o as [r t|r|r q].
  - destruct (paths_cases r p) as [[s E]|[(n & s & ->)|Hap]].
    + simpl in Hy. rewrite (Hdir _ _ E), Hfiles in Hy. discriminate.
    + apply tree_step_write in Hy as (w & -> & Hy). eapply tree_put_above, Hy.
    + apply tree_step_write in Hy as (w & -> & Hy). rewrite (tree_put_apart _ _ Hap Hy). auto.
  - destruct (paths_cases r p) as [[s E]|H].
    + simpl in Hy. rewrite (Hdir _ _ E), Hfiles in Hy. discriminate.
    + apply tree_step_unset in Hy. subst. rewrite drop_other; auto. destruct H as [(n & s & ->)|[H _]]; auto using above_not_below.
  - simpl in Ho. subst q. apply tree_step_restore in Hy. destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + destruct (folder_above _ _ _ Hp) as [tx Gx]. destruct Hy as [(t & w & G & -> & Hy)|[G _]]; [|congruence].
      rewrite (tree_put_below _ _ _ _ Hy), <- (see_app r s _ G). exact Hp.
    + destruct Hy as [(t & w & G & -> & Hy)|[G ->]]; [eapply tree_put_above, Hy|].
      destruct (folder_get _ _ Hp) as [l Gp]. pose proof (missing_some n s p x0 Gp) as M1.
      destruct (prune_above (missing x0 (p ++ n :: s)) n s p (drop y (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
      rewrite drop_other by apply above_not_below. auto.
    + destruct Hy as [(t & w & G & -> & Hy)|[G ->]]; rewrite ?(tree_put_apart _ _ Hap Hy), ?cleared_apart by auto; auto.
Qed.

(** Or compare with one in which that container has something in it that no operation names: if that comes back,
    so does the container. *)
Definition stranger (p : path) (u : nat) (o : tree_op (V := V)) : Prop :=
  ~ below (op_path o) (p ++ [u]) /\
  match o with Write r t => forall s, p = r ++ s -> shown (see (Some t) (s ++ [u])) = None | _ => True end.

Definition keeps (p : path) (u : nat) (v : V) (y z : option T) : Prop := see z (p ++ [u]) = Value v -> see y p = Folder.

Lemma step_keeps o x0 z0 y z y' z' p u v : own_path o -> stranger p u o -> see x0 p = Folder ->
  tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' -> keeps p u v y z -> keeps p u v y' z'.
Proof.
  intros Ho [Hn Hlit] Hx Hy Hz Hk. unfold keeps in *.
  assert (Hside : forall r, op_path o = r -> ~ below p r -> see z' (p ++ [u]) = Value v -> see z (p ++ [u]) = Value v).
  { intros r E Hb. subst r.
    assert (Hap : ~ below (p ++ [u]) (op_path o) /\ ~ above (p ++ [u]) (op_path o)).
    { split.
      - intros [s E]. destruct s as [|k s] using rev_ind.
        + rewrite app_nil_r in E. apply Hn. rewrite <- E. exists []. now rewrite app_nil_r.
        + rewrite app_assoc in E. apply app_inj_tail in E as [E _]. apply Hb. now exists s.
      - intros (k & s & E). apply Hn. rewrite E. now exists (k :: s). }
    intros H. rewrite <- H. symmetry. destruct o as [r t|r|r q]; simpl in Hap.
    - apply tree_step_write in Hz as (w & -> & Hz). apply (tree_put_apart _ _ Hap Hz).
    - apply tree_step_unset in Hz. subst. apply drop_other. tauto.
    - simpl in Ho. subst q. apply tree_step_restore in Hz as [(t & w & G & -> & Hz)|[G ->]];
        [apply (tree_put_apart _ _ Hap Hz)|apply cleared_apart, Hap]. }
  destruct (paths_cases (op_path o) p) as [Hb|[Hab|Hap]].
  - destruct Hb as [s E]. intros Hv. destruct o as [r t|r|r q]; simpl in *.
    + apply (tree_step_write r t z0) in Hz as (w & -> & Hz). rewrite E, <- app_assoc, (tree_put_below _ _ _ _ Hz) in Hv.
      specialize (Hlit s E). rewrite Hv in Hlit. discriminate.
    + apply (tree_step_unset r z0) in Hz. subst z'. rewrite E, <- app_assoc, drop_below in Hv.
      unfold gone in Hv. destruct (see z (r ++ s ++ [u])); try discriminate. destruct (_ <=? _); discriminate.
    + subst q. apply (tree_step_restore r x0) in Hy. rewrite E in Hx. destruct (folder_above _ _ _ Hx) as [tx Gx].
      destruct Hy as [(t & w & G & -> & Hy)|[G _]]; [|congruence].
      rewrite E, (tree_put_below _ _ _ _ Hy), <- (see_app r s _ G). exact Hx.
  - pose proof Hab as (n & s & E). intros Hv. apply (Hside _ eq_refl) in Hv; [|rewrite E; apply above_not_below].
    specialize (Hk Hv). destruct o as [r t|r|r q]; simpl in E; subst r.
    + apply tree_step_write in Hy as (w & -> & Hy). eapply tree_put_above, Hy.
    + apply tree_step_unset in Hy. subst. rewrite drop_other by apply above_not_below. exact Hk.
    + simpl in Ho. subst q. apply tree_step_restore in Hy as [(t & w & G & -> & Hy)|[G ->]]; [eapply tree_put_above, Hy|].
      destruct (folder_get _ _ Hx) as [l Gp]. pose proof (missing_some n s p x0 Gp) as M1.
      destruct (prune_above (missing x0 (p ++ n :: s)) n s p (drop y (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
      rewrite drop_other by apply above_not_below. exact Hk.
  - intros Hv. apply (Hside _ eq_refl) in Hv; [|apply Hap]. specialize (Hk Hv). rewrite <- Hk.
    destruct o as [r t|r|r q]; simpl in Hap.
    + apply tree_step_write in Hy as (w & -> & Hy). apply (tree_put_apart _ _ Hap Hy).
    + apply tree_step_unset in Hy. subst. apply drop_other. tauto.
    + simpl in Ho. subst q. apply tree_step_restore in Hy as [(t & w & G & -> & Hy)|[G ->]];
        [apply (tree_put_apart _ _ Hap Hy)|apply cleared_apart, Hap].
Qed.

(** In any case, at a container both show the same, or one shows a container and the other nothing. *)
Definition loosely (p : path) (y z : option T) : Prop :=
  see y p = see z p \/ (see y p = Nowhere /\ see z p = Folder) \/ (see y p = Folder /\ see z p = Nowhere).

Lemma put_above_loosely p n s t w y z : tree_put y (p ++ n :: s) t = Some w -> loosely p y z -> see z p = Folder \/ see z p = Nowhere.
Proof.
  intros Hy [Ha|[[_ Ha]|[_ Ha]]]; auto.
  destruct (see z p) as [|k|v|] eqn:E; auto; exfalso.
  - apply (@tree_put_unstopped _ _ _ _ Hy (k + length (n :: s))). apply see_behind_app. congruence.
  - destruct (get y p) as [[u|l]|] eqn:Eg; pose proof (skel_see p y) as S; rewrite Eg, Ha in S; simpl in S; try discriminate.
    apply (@tree_put_unstopped _ _ _ _ Hy (length (n :: s))). rewrite (see_app p (n :: s) _ Eg). reflexivity.
Qed.

Lemma loosely_sym p y z : loosely p y z -> loosely p z y.
Proof. unfold loosely. intuition. Qed.

Lemma step_loosely o x0 z0 y z y' z' p : own_path o -> see x0 p = Folder -> see z0 p = Folder ->
  tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' -> loosely p y z -> loosely p y' z'.
Proof.
  intros Ho Hx Hz0 Hy Hz Ha. destruct o as [r t|r|r q].
  - apply tree_step_write in Hy as (w & -> & Hy). apply tree_step_write in Hz as (u & -> & Hz).
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + left. now rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
    + left. now rewrite (tree_put_above _ _ _ _ _ Hy), (tree_put_above _ _ _ _ _ Hz).
    + unfold loosely. rewrite (tree_put_apart _ _ Hap Hy), (tree_put_apart _ _ Hap Hz). exact Ha.
  - apply tree_step_unset in Hy. apply tree_step_unset in Hz. subst.
    destruct (paths_cases r p) as [[s ->]|H].
    + left. rewrite !drop_below. destruct Ha as [->|[[-> ->]|[-> ->]]]; reflexivity.
    + unfold loosely. rewrite !drop_other; auto; destruct H as [(n & s & ->)|[H _]]; auto using above_not_below.
  - simpl in Ho. subst q. apply tree_step_restore in Hy. apply tree_step_restore in Hz.
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + destruct (folder_above _ _ _ Hx) as [tx Gx]. destruct (folder_above _ _ _ Hz0) as [tz Gz].
      destruct Hy as [(t & w & Gx' & -> & Hy)|[Gx' _]]; [|congruence].
      destruct Hz as [(t' & w' & Gz' & -> & Hz)|[Gz' _]]; [|congruence].
      left. rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
      rewrite <- (see_app r s _ Gx'), <- (see_app r s _ Gz'). congruence.
    + destruct (folder_get _ _ Hx) as [lx Gx]. destruct (folder_get _ _ Hz0) as [lz Gz].
      assert (Hpr : forall x1 l1 y1, get x1 p = Some (Dir l1) ->
        see (prune (drop y1 (p ++ n :: s)) (p ++ n :: s) (missing x1 (p ++ n :: s))) p = see y1 p).
      { intros x1 l1 y1 G. pose proof (missing_some n s p x1 G) as M.
        destruct (prune_above (missing x1 (p ++ n :: s)) n s p (drop y1 (p ++ n :: s))) as [->|(_ & L & _)]; [|lia].
        apply drop_other, above_not_below. }
      destruct Hy as [(t & w & _ & -> & Hy)|[_ ->]], Hz as [(t' & w' & _ & -> & Hz)|[_ ->]]; unfold loosely;
        rewrite ?(tree_put_above _ _ _ _ _ Hy), ?(tree_put_above _ _ _ _ _ Hz), ?(Hpr _ _ _ Gx), ?(Hpr _ _ _ Gz); auto.
      * destruct (@put_above_loosely _ _ _ _ _ _ _ Hy Ha) as [->| ->]; auto.
      * destruct (@put_above_loosely _ _ _ _ _ _ _ Hz (loosely_sym Ha)) as [->| ->]; auto.
    + unfold loosely. destruct Hy as [(t & w & Gx & -> & Hy)|[Gx ->]], Hz as [(t' & w' & Gz & -> & Hz)|[Gz ->]];
        rewrite ?(tree_put_apart _ _ Hap Hy), ?(tree_put_apart _ _ Hap Hz), ?cleared_apart by auto; auto.
Qed.

(** [z] stands for [x] along the line of [p], for a recovery [m]: it shows the same, and where that is a container
    it is empty, or has something in it that [m] does not name. *)
Definition inhabited (m : list (tree_op (V := V))) (z : option T) (p : path) : Prop :=
  exists u v, Forall (stranger p u) m /\ see z (p ++ [u]) = Value v.
Definition stands_for (m : list (tree_op (V := V))) (p : path) (x z : option T) : Prop :=
  see z p = see x p /\ (see x p = Folder -> hollow z p \/ inhabited m z p).

Definition follows (m : list (tree_op (V := V))) (p : path) (x0 z0 y z : option T) : Prop :=
  alike x0 z0 y z /\ kept_folders x0 y /\ kept_folders z0 z /\
  (see x0 p = Folder -> loosely p y z /\ (hollow z0 p -> at_least p y z) /\
     forall u v, Forall (stranger p u) m -> see z0 (p ++ [u]) = Value v -> keeps p u v y z).

Lemma follows_start m p x z : see z p = see x p -> follows m p x z x z.
Proof.
  intros He. split; [intros q H _; exact H|]. split; [intros _ q H; exact H|]. split; [intros _ q H; exact H|].
  intros Hf. split; [left; congruence|]. split; [intros _; left; congruence|]. intros u v _ _ _. exact Hf.
Qed.

Lemma follows_runs n p x z m : Forall own_path m -> incl m n -> see z p = see x p -> forall y z1 y' z', follows n p x z y z1 ->
  runs m x y = Some y' -> runs m z z1 = Some z' -> follows n p x z y' z'.
Proof.
  intros Hm Hin He. induction Hm as [|o m Ho _ IH]; simpl; intros y z1 y' z' (Ha & Hk1 & Hk2 & Hl) Hy Hz.
  - injection Hy as <-. injection Hz as <-. repeat split; auto; apply Hl; auto.
  - destruct (tree_step files o x y) as [y1|] eqn:Ey; [|discriminate]. destruct (tree_step files o z z1) as [z2|] eqn:Ez; [|discriminate].
    eapply IH; [intros a Ha'; apply Hin; right; exact Ha'| |exact Hy|exact Hz]. split; [|split; [|split]].
    + eapply step_alike; eauto.
    + eapply step_kept_folders; eauto.
    + eapply step_kept_folders; eauto.
    + intros Hf. destruct (Hl Hf) as (H1 & H2 & H3). split; [|split].
      * apply (@step_loosely o x z y z1 y1 z2 p Ho Hf ltac:(congruence) Ey Ez H1).
      * intros Hh. eapply step_at_least; eauto.
      * intros u v Hs Hv. apply (@step_keeps o x z y z1 y1 z2 p u v Ho); auto.
        rewrite Forall_forall in Hs. apply Hs, Hin. now left.
Qed.

(** If an operation goes through where another tree stands for this one along the line of its path, it goes
    through here. *)
Lemma goes_alike n o x0 z0 y z : own_path o -> see z0 (op_path o) = see x0 (op_path o) -> follows n (op_path o) x0 z0 y z ->
  tree_step files o z0 z <> None -> tree_step files o x0 y <> None.
Proof.
  intros Ho He (Ha & Hk1 & Hk2 & Hl) Hz.
  assert (Hd : files && is_dir (get y (op_path o)) = files && is_dir (get z (op_path o))).
  { destruct files eqn:F; [|reflexivity]. simpl. apply eq_true_iff_eq. rewrite !is_dir_see.
    destruct (see x0 (op_path o)) eqn:E; try (rewrite (Ha (op_path o)); [reflexivity|congruence|congruence]).
    rewrite (Hk1 F (op_path o) E), (Hk2 F (op_path o) (eq_trans He eq_refl)). reflexivity. }
  assert (Hb : (exists k, see y (op_path o) = Behind k) -> exists k, see z (op_path o) = Behind k).
  { intros [k E]. destruct (see x0 (op_path o)) eqn:E0.
    1-3: rewrite <- (Ha (op_path o)); [eauto|congruence|congruence].
    destruct (proj1 (Hl eq_refl)) as [H|[[H _]|[H _]]]; [|congruence|congruence]. rewrite <- H. eauto. }
  destruct o as [r t|r|r q]; simpl in *.
  - rewrite Hd. destruct (files && is_dir (get z r)); [congruence|].
    destruct (tree_put y r t) eqn:Ey; [discriminate|]. apply tree_put_fails in Ey. destruct (Hb Ey) as [k Ez].
    assert (tree_put z r t = None) as En by (apply tree_put_fails; eauto). rewrite En in Hz. simpl in Hz. congruence.
  - rewrite Hd. destruct (files && is_dir (get z r)); [congruence|discriminate].
  - subst q. destruct (get x0 r) as [t|] eqn:Gx.
    + destruct (tree_put y r t) eqn:Ey; [discriminate|]. apply tree_put_fails in Ey. destruct (Hb Ey) as [k Ez].
      destruct (get z0 r) as [t'|] eqn:Gz.
      * assert (tree_put z r t' = None) as En by (apply tree_put_fails; eauto). rewrite En in Hz. simpl in Hz. congruence.
      * exfalso. pose proof (skel_see r x0) as S1. pose proof (skel_see r z0) as S2. rewrite Gx in S1. rewrite Gz, He in S2.
        rewrite <- S2 in S1. destruct t; discriminate.
    + rewrite Hd. destruct (get z0 r) as [t'|] eqn:Gz.
      * exfalso. pose proof (skel_see r x0) as S1. pose proof (skel_see r z0) as S2. rewrite Gx in S1. rewrite Gz, He in S2.
        rewrite <- S1 in S2. destruct t'; discriminate.
      * destruct (files && is_dir (get z r)); [congruence|discriminate].
Qed.

(** If for every line some tree stands for this one on which the whole run went through, it goes through here. *)
Lemma goes_by_lines n m x y : Forall own_path m -> incl m n ->
  (forall o, In o m -> exists z z1 z2, see z (op_path o) = see x (op_path o) /\ follows n (op_path o) x z y z1 /\ runs m z z1 = Some z2) ->
  exists y', runs m x y = Some y'.
Proof.
  intros Hm Hin H.
  assert (forall m1 m2, m = m1 ++ m2 -> exists y', runs m1 x y = Some y') as G.
  { intros m1. induction m1 as [|o m1 IH] using rev_ind; intros m2 E; [simpl; eauto|].
    destruct (IH (o :: m2)) as [y1 Hy1]; [now rewrite E, <- app_assoc|].
    destruct (H o) as (z & z1 & z2 & Hs & Hf & Hz); [rewrite E, !in_app_iff; simpl; auto|].
    rewrite E, <- app_assoc, runs_app in Hz. destruct (runs m1 z z1) as [z3|] eqn:Ez; [|discriminate]. simpl in Hz.
    destruct (tree_step files o z z3) as [z4|] eqn:Eo; [|discriminate].
    rewrite E, <- app_assoc in Hm. apply Forall_app in Hm as [Hm1 Hm2]. inversion Hm2 as [|? ? Ho _]; subst.
    assert (Hin1 : incl m1 n) by (intros a Ha; apply Hin; rewrite !in_app_iff; auto).
    pose proof (@follows_runs n (op_path o) x z m1 Hm1 Hin1 Hs _ _ _ _ Hf Hy1 Ez) as Hf2.
    destruct (tree_step files o x y1) as [y2|] eqn:Ey.
    - exists y2. rewrite runs_app, Hy1. simpl. now rewrite Ey.
    - exfalso. eapply goes_alike; [exact Ho|exact Hs|exact Hf2|congruence|exact Ey]. }
  apply (G m []). now rewrite app_nil_r.
Qed.

Definition brought_back (m : list (tree_op (V := V))) (x y : option T) : Prop :=
  exists x', runs m x y = Some x' /\ forall p, skel (get x' p) = skel (get x p).

Lemma back_by_lines r x y : Forall own_path r ->
  (forall p, exists z z1, stands_for r p x z /\ follows r p x z y z1 /\ brought_back r z z1) -> brought_back r x y.
Proof.
  intros Hr H.
  destruct (@goes_by_lines r r x y Hr (incl_refl r)) as [x' Hx'].
  { intros o _. destruct (H (op_path o)) as (z & z1 & [Hs _] & Hf & z' & Hz & _). exists z, z1, z'. auto. }
  exists x'. split; [exact Hx'|]. intros p.
  destruct (H p) as (z & z1 & [He Hw] & Hf & z' & Hz & Hback).
  pose proof (@follows_runs r p x z r Hr (incl_refl r) He _ _ _ _ Hf Hx' Hz) as (Ha & _ & _ & Hl).
  pose proof (Hback p) as Hp. rewrite !skel_see in *. rewrite He in Hp.
  destruct (see x p) eqn:E; try (rewrite (Ha p); [exact Hp|congruence|congruence]).
  destruct (Hl eq_refl) as (_ & H1 & H2). destruct (Hw eq_refl) as [Hh|(u & v & Hs & Hv)].
  - destruct (H1 Hh) as [->|[En _]]; [exact Hp|]. rewrite En in Hp. discriminate.
  - rewrite (H2 u v Hs Hv); [reflexivity|]. specialize (Hback (p ++ [u])). rewrite !skel_see, Hv in Hback.
    destruct (see z' (p ++ [u])); simpl in Hback; congruence.
Qed.

(** ** Lines decide where the mutation does not run *)
Theorem idle_by_lines r x : Forall own_path r ->
  (forall p, exists z, stands_for r p x z /\ brought_back r z z) -> brought_back r x x.
Proof.
  intros Hr H. apply back_by_lines; auto. intros p. destruct (H p) as (z & Hs & Hb).
  exists z, z. split; [exact Hs|]. split; [apply follows_start, Hs|exact Hb].
Qed.

(** ** Lines decide where it goes through *)
Lemma hollow_get z p : hollow z p -> get z p = Some (Dir []).
Proof.
  intros [H1 H2]. destruct (folder_get _ _ H1) as [l G]. rewrite G. f_equal. f_equal. apply lookup_nothing. intros n.
  specialize (H2 n []). rewrite (see_app p [n] _ G) in H2. simpl in H2. destruct (lookup n l) as [[v|l']|]; try discriminate. reflexivity.
Qed.

Lemma differ_alike n p x0 z0 y z : see z0 p = see x0 p -> (see x0 p = Folder -> hollow z0 p) -> follows n p x0 z0 y z ->
  differ (get x0 p) (get y p) -> differ (get z0 p) (get z p).
Proof.
  intros He Hh (Ha & _ & _ & Hl) Hd.
  destruct (get x0 p) as [[v|l]|] eqn:Gx.
  - (* a leaf *)
    pose proof (skel_see p x0) as S. rewrite Gx in S. simpl in S.
    assert (Ex : see x0 p = Value v) by (destruct (see x0 p); simpl in S; congruence).
    pose proof (Ha p (eq_sym He) ltac:(congruence)) as Ep.
    assert (S2 : skel (get z p) = skel (get y p)) by (rewrite !skel_see; congruence).
    pose proof (skel_see p z0) as S3. rewrite He, Ex in S3. simpl in S3.
    destruct (get z0 p) as [[v'|l']|]; simpl in S3; try discriminate. injection S3 as ->.
    unfold differ in *. destruct (get y p) as [[u|l]|], (get z p) as [[u'|l']|]; simpl in *; congruence.
  - (* a container *)
    pose proof (skel_see p x0) as S. rewrite Gx in S. simpl in S.
    assert (Ex : see x0 p = Folder) by (destruct (see x0 p); simpl in S; congruence).
    rewrite (hollow_get (Hh Ex)). destruct (proj1 (proj2 (Hl Ex)) (Hh Ex)) as [Ep|[Ep1 Ep2]].
    + assert (S2 : skel (get z p) = skel (get y p)) by (rewrite !skel_see; congruence).
      unfold differ in *. destruct l as [|e l], (get y p) as [[u|[|e1 l1]]|], (get z p) as [[u'|[|e2 l2]]|]; simpl in *; congruence || tauto.
    + pose proof (skel_see p y) as S2. rewrite Ep2 in S2. destruct (get y p) as [[u|l1]|]; try discriminate.
      unfold differ in Hd. destruct l; destruct Hd.
  - (* nothing *)
    assert (Hns : see x0 p = Nowhere \/ exists k, see x0 p = Behind k) by (apply get_none_see, Gx).
    assert (Gz : get z0 p = None) by (apply get_none_see; rewrite He; exact Hns). rewrite Gz.
    assert (Hext : forall u, see y (p ++ u) = see z (p ++ u)).
    { intros u. apply Ha; destruct Hns as [E|[k E]].
      - rewrite (see_nowhere_app p u x0 E). rewrite <- He in E. now rewrite (see_nowhere_app p u z0 E).
      - rewrite (see_behind_app p u x0 E). rewrite <- He in E. now rewrite (see_behind_app p u z0 E).
      - rewrite (see_nowhere_app p u x0 E). discriminate.
      - rewrite (see_behind_app p u x0 E). discriminate. }
    assert (S2 : skel (get z p) = skel (get y p)).
    { rewrite !skel_see. specialize (Hext []). rewrite !app_nil_r in Hext. congruence. }
    unfold differ in *. destruct (get y p) as [[u|[|e l]]|] eqn:Gy, (get z p) as [[u'|[|e' l']]|] eqn:Gz1; simpl in *; try congruence; try tauto.
    destruct e' as [k t']. specialize (Hext [k]). rewrite (see_app p [k] _ Gy), (see_app p [k] _ Gz1) in Hext. simpl in Hext.
    rewrite Nat.eqb_refl in Hext. destruct t'; discriminate.
Qed.

Theorem through_by_lines m r (covered : path -> Prop) x y : Forall plain m -> Forall own_path r ->
  runs m x x = Some y ->
  (forall p, exists z z1, see z p = see x p /\ (see x p = Folder -> hollow z p) /\ runs m z z = Some z1 /\
     (forall q, differ (get z q) (get z1 q) -> covered q) /\ brought_back r z z1) ->
  (forall q, differ (get x q) (get y q) -> covered q) /\ brought_back r x y.
Proof.
  intros Hm Hr Hy H.
  assert (Hm' : Forall own_path m) by (eapply Forall_impl; [|exact Hm]; intros [?|?|? ?]; simpl; tauto).
  assert (Hf : forall p z z1, see z p = see x p -> runs m z z = Some z1 -> follows (m ++ r) p x z y z1).
  { intros p z z1 He Hz. apply (@follows_runs (m ++ r) p x z m Hm' (incl_appl r (incl_refl m)) He x z); auto using follows_start. }
  split.
  - intros q Hd. destruct (H q) as (z & z1 & He & Hh & Hz & Hc & _). apply Hc.
    apply (@differ_alike (m ++ r) q x z y z1); auto.
  - apply back_by_lines; auto. intros p. destruct (H p) as (z & z1 & He & Hh & Hz & _ & Hb).
    exists z, z1. split; [split; auto|]. split; [|exact Hb].
    destruct (Hf p z z1 He Hz) as (F1 & F2 & F3 & F4). split; [exact F1|]. split; [exact F2|]. split; [exact F3|].
    intros Hx. destruct (F4 Hx) as (G1 & G2 & _). split; [exact G1|]. split; [exact G2|].
    intros u v _ Hv. destruct (Hh Hx) as [_ Hn]. rewrite (Hn u []) in Hv. discriminate.
Qed.

(** ** The classes: a base, varied along one line *)

(** [along b x p] is [b] with the line of [p] as it is in [x], and nothing beside that line where [b] has no
    container. *)
Definition children (x : option T) : list (nat * T) := match x with Some (Dir l) => l | _ => [] end.
Fixpoint along (b x : option T) (p : path) : option T :=
  match x with
  | Some (Dir l) =>
      match p with
      | [] => Some (Dir [])
      | n :: p' => Some (Dir (match along (lookup n (children b)) (lookup n l) p' with
                              | Some t => set n t (children b)
                              | None => remove n (children b)
                              end))
      end
  | _ => x
  end.

Lemma see_children (b : option T) n q : see (lookup n (children b)) q = see b (n :: q) \/ see (lookup n (children b)) q = Nowhere.
Proof. destruct b as [[v|l]|]; simpl; auto; right; apply see_none. Qed.

Lemma see_along_down b l n p q : see (along b (Some (Dir l)) (n :: p)) (n :: q) = see (along (lookup n (children b)) (lookup n l) p) q.
Proof.
  cbn [along see]. destruct (along (lookup n (children b)) (lookup n l) p) as [t|].
  - now rewrite lookup_set_same.
  - now rewrite lookup_remove_same.
Qed.

Theorem along_stands_for p : forall b x, see (along b x p) p = see x p /\ (see x p = Folder -> hollow (along b x p) p).
Proof.
  induction p as [|n p IH]; intros b [[v|l]|]; try (split; [reflexivity|discriminate]).
  - split; [reflexivity|]. intros _. split; [reflexivity|]. intros n s. apply see_none.
  - destruct (IH (lookup n (children b)) (lookup n l)) as [H1 H2]. rewrite see_along_down. split; [exact H1|].
    intros Hf. destruct (H2 Hf) as [H3 H4]. split; [rewrite see_along_down; exact H3|].
    intros k s. change ((n :: p) ++ k :: s) with (n :: (p ++ k :: s)). rewrite see_along_down. apply H4.
Qed.

Theorem along_lines p : forall b x q, see (along b x p) q = see x q \/ see (along b x p) q = see b q \/ see (along b x p) q = Nowhere.
Proof.
  induction p as [|n p IH]; intros b [[v|l]|] q; auto.
  - destruct q as [|k q]; [now left|right; right; apply see_none].
  - destruct q as [|k q]; [left; reflexivity|]. destruct (Nat.eq_dec k n) as [->|N].
    + rewrite see_along_down. destruct (IH (lookup n (children b)) (lookup n l) q) as [H|[H|H]]; auto.
      rewrite H. destruct (see_children b n q) as [->| ->]; auto.
    + right. cbn [along see]. assert (E : lookup k (match along (lookup n (children b)) (lookup n l) p with
          | Some t => set n t (children b) | None => remove n (children b) end) = lookup k (children b)).
      { destruct (along (lookup n (children b)) (lookup n l) p); [now apply lookup_set_other|now apply lookup_remove_other]. }
      rewrite E. apply see_children.
Qed.

(** A mutation that goes through goes through where less is in its way: nothing stops it where there is nothing. *)
Definition freer (p : path) (y z : option T) : Prop := see z p = see y p \/ see z p = Nowhere.

Lemma step_freer o x0 z0 y z y' z' p : plain o ->
  tree_step files o x0 y = Some y' -> tree_step files o z0 z = Some z' -> freer p y z -> freer p y' z'.
Proof.
  intros Ho Hy Hz Ha. destruct o as [r t|r|r q]; [| |destruct Ho].
  - apply tree_step_write in Hy as (w & -> & Hy). apply tree_step_write in Hz as (u & -> & Hz). unfold freer.
    destruct (paths_cases r p) as [[s ->]|[(n & s & ->)|Hap]].
    + left. now rewrite (tree_put_below _ _ _ _ Hy), (tree_put_below _ _ _ _ Hz).
    + left. now rewrite (tree_put_above _ _ _ _ _ Hy), (tree_put_above _ _ _ _ _ Hz).
    + rewrite (tree_put_apart _ _ Hap Hy), (tree_put_apart _ _ Hap Hz). exact Ha.
  - apply tree_step_unset in Hy. apply tree_step_unset in Hz. subst. unfold freer.
    destruct (paths_cases r p) as [[s ->]|H].
    + rewrite !drop_below. destruct Ha as [->| ->]; auto.
    + rewrite !drop_other; auto; destruct H as [(n & s & ->)|[H _]]; auto using above_not_below.
Qed.

Lemma runs_freer m p : Forall plain m -> forall x0 z0 y z y' z', freer p y z ->
  runs m x0 y = Some y' -> runs m z0 z = Some z' -> freer p y' z'.
Proof.
  induction 1 as [|o m Ho _ IH]; simpl; intros x0 z0 y z y' z' Hf Hy Hz.
  - injection Hy as <-. injection Hz as <-. exact Hf.
  - destruct (tree_step files o x0 y) as [y1|] eqn:Ey; [|discriminate]. destruct (tree_step files o z0 z) as [z1|] eqn:Ez; [|discriminate].
    eapply IH; [|exact Hy|exact Hz]. eapply step_freer; eauto.
Qed.

Lemma goes_freer o x0 z0 y z : plain o -> freer (op_path o) y z -> tree_step files o x0 y <> None -> tree_step files o z0 z <> None.
Proof.
  intros Ho Hf Hy.
  assert (Hd : is_dir (get z (op_path o)) = true -> is_dir (get y (op_path o)) = true).
  { rewrite !is_dir_see. intros E. destruct Hf as [Hf|Hf]; congruence. }
  destruct o as [r t|r|r q]; [| |destruct Ho]; simpl in *.
  - destruct files; simpl in *.
    + destruct (is_dir (get z r)); [rewrite Hd in Hy by reflexivity; congruence|]. destruct (is_dir (get y r)); [congruence|].
      destruct (tree_put z r t) eqn:Ez; [discriminate|]. apply tree_put_fails in Ez as [k Ez]. destruct Hf as [Hf|Hf]; [|congruence].
      assert (tree_put y r t = None) as En by (apply tree_put_fails; exists k; congruence). rewrite En in Hy. simpl in Hy. congruence.
    + destruct (tree_put z r t) eqn:Ez; [discriminate|]. apply tree_put_fails in Ez as [k Ez]. destruct Hf as [Hf|Hf]; [|congruence].
      assert (tree_put y r t = None) as En by (apply tree_put_fails; exists k; congruence). rewrite En in Hy. simpl in Hy. congruence.
  - destruct files; simpl in *; [|discriminate].
    destruct (is_dir (get z r)); [rewrite Hd in Hy by reflexivity; congruence|discriminate].
Qed.

Lemma goes_where_lines_do m z : Forall plain m ->
  (forall o, In o m -> exists y0 y, runs m y0 y0 = Some y /\ freer (op_path o) y0 z) -> exists z', runs m z z = Some z'.
Proof.
  intros Hm H.
  assert (forall m1 m2, m = m1 ++ m2 -> exists z', runs m1 z z = Some z') as G.
  { intros m1. induction m1 as [|o m1 IH] using rev_ind; intros m2 E; [simpl; eauto|].
    destruct (IH (o :: m2)) as [z1 Hz1]; [now rewrite E, <- app_assoc|].
    destruct (H o) as (y0 & y & Hy & Hf); [rewrite E, !in_app_iff; simpl; auto|].
    rewrite E, <- app_assoc, runs_app in Hy. destruct (runs m1 y0 y0) as [y1|] eqn:Ey; [|discriminate]. simpl in Hy.
    destruct (tree_step files o y0 y1) as [y2|] eqn:Eo; [|discriminate].
    rewrite E, <- app_assoc in Hm. apply Forall_app in Hm as [Hm1 Hm2]. inversion Hm2 as [|? ? Ho _]; subst.
    pose proof (@runs_freer m1 (op_path o) Hm1 _ _ _ _ _ _ Hf Ey Hz1) as Hf2.
    destruct (tree_step files o z z1) as [z2|] eqn:Ez; [exists z2; rewrite runs_app, Hz1; simpl; now rewrite Ez|].
    exfalso. apply (@goes_freer o y0 z y1 z1 Ho Hf2); congruence. }
  apply (G m []). now rewrite app_nil_r.
Qed.

(** Where the mutation goes through on a base and on another tree, it goes through on the base varied along any
    line of that tree. *)
Theorem along_goes m b x p y y' : Forall plain m -> runs m b b = Some y -> runs m x x = Some y' ->
  exists z', runs m (along b x p) (along b x p) = Some z'.
Proof.
  intros Hm Hb Hx. apply goes_where_lines_do; auto. intros o _.
  destruct (along_lines p b x (op_path o)) as [H|[H|H]].
  - exists x, y'. split; [exact Hx|]. now left.
  - exists b, y. split; [exact Hb|]. now left.
  - exists b, y. split; [exact Hb|]. now right.
Qed.

(** Climbing inside a tree has no local summits: where a run fails on the base and goes further on another tree,
    it goes further on the base varied along the one line of the operation that failed. *)
Theorem climb_along_a_line m o b x y y' : Forall plain (m ++ [o]) ->
  runs m b b = Some y -> runs (m ++ [o]) x x = Some y' ->
  exists z', runs (m ++ [o]) (along b x (op_path o)) (along b x (op_path o)) = Some z'.
Proof.
  intros Hm Hb Hx. apply Forall_app in Hm as [Hm Ho]. inversion Ho as [|? ? Hp _]; subst.
  rewrite runs_app in Hx. destruct (runs m x x) as [x1|] eqn:Ex; [|discriminate].
  destruct (@along_goes m b x (op_path o) y x1 Hm Hb Ex) as [z1 Hz1].
  rewrite runs_app, Hz1. simpl in *. destruct (tree_step files o x x1) as [x2|] eqn:Eo; [|discriminate].
  assert (Hf : freer (op_path o) x (along b x (op_path o))) by (left; apply along_stands_for).
  pose proof (@runs_freer m (op_path o) Hm _ _ _ _ _ _ Hf Ex Hz1) as Hf2.
  destruct (tree_step files o (along b x (op_path o)) z1) as [z2|] eqn:Ez; [eauto|].
  exfalso. apply (@goes_freer o x (along b x (op_path o)) x1 z1 Hp Hf2); congruence.
Qed.

(** ** Paths add up: one tree *)
Theorem paths_add_up m r (covered : path -> Prop) b yb : Forall plain m -> Forall own_path r -> runs m b b = Some yb ->
  (forall x p z, runs m (along b x p) (along b x p) = Some z ->
     (forall q, differ (get (along b x p) q) (get z q) -> covered q) /\ brought_back r (along b x p) z) ->
  forall x y, runs m x x = Some y -> (forall q, differ (get x q) (get y q) -> covered q) /\ brought_back r x y.
Proof.
  intros Hm Hr Hb H x y Hx. apply (@through_by_lines m r covered x y Hm Hr Hx). intros p.
  destruct (@along_goes m b x p yb y Hm Hb Hx) as [z Hz]. exists (along b x p), z.
  destruct (along_stands_for p b x) as [H1 H2]. destruct (H x p z Hz) as [H3 H4]. auto 6.
Qed.

Theorem idle_adds_up r b : Forall own_path r -> (forall x p, brought_back r (along b x p) (along b x p)) ->
  forall x, brought_back r x x.
Proof.
  intros Hr H x. apply idle_by_lines; auto. intros p. exists (along b x p). split; [|apply H].
  destruct (along_stands_for p b x) as [H1 H2]. split; auto.
Qed.

End Lines.

(** ** Paths add up: a candidate on all top names *)
Section Candidates.
Context {V : Type}.
Variable files : bool.
Variable c : tree_candidate (V := V).
Notation T := (tree V).
Let M := map (tree_forward files) (tmutation c).
Let R := map (tree_recovery files) (trecovery c).

Definition at_name (i : nat) (m : list (nat * tree_op (V := V))) : list (tree_op (V := V)) :=
  map snd (filter (fun ro => fst ro =? i) m).

Lemma slice_exec_runs i m : forall x, slice_exec Nat.eq_dec (map (tree_forward files) m) i x = runs files (at_name i m) None x.
Proof.
  unfold at_name. induction m as [|[r o] m IH]; simpl; intros x; auto.
  destruct (Nat.eq_dec r i) as [->|N].
  - rewrite Nat.eqb_refl. simpl. destruct (tree_step files o None x); auto.
  - apply Nat.eqb_neq in N. rewrite N. apply IH.
Qed.
Lemma slice_rexec_runs i m x0 : forall x, slice_rexec Nat.eq_dec (map (tree_recovery files) m) i x0 x = runs files (at_name i m) x0 x.
Proof.
  unfold at_name. induction m as [|[r o] m IH]; simpl; intros x; auto.
  destruct (Nat.eq_dec r i) as [->|N].
  - rewrite Nat.eqb_refl. simpl. destruct (tree_step files o x0 x); auto.
  - apply Nat.eqb_neq in N. rewrite N. apply IH.
Qed.

Hypothesis M_plain : Forall (fun ro => plain (snd ro)) (tmutation c).
Hypothesis R_own : Forall (fun ro => own_path (snd ro)) (trecovery c).

Lemma at_name_all (P : tree_op (V := V) -> Prop) i m : Forall (fun ro => P (snd ro)) m -> Forall P (at_name i m).
Proof.
  intros H. unfold at_name. apply Forall_forall. intros o Ho. apply in_map_iff in Ho as ([r o'] & <- & Hin).
  apply filter_In in Hin as [Hin _]. rewrite Forall_forall in H. apply (H _ Hin).
Qed.

Lemma slice_goes i x : slice_exec Nat.eq_dec M i x = runs files (at_name i (tmutation c)) x x.
Proof. unfold M. rewrite slice_exec_runs. apply runs_plain, at_name_all, M_plain. Qed.

Lemma slice_back_brought i x y : slice_back Nat.eq_dec R tsame i x y <-> brought_back files (at_name i (trecovery c)) x y.
Proof. unfold slice_back, brought_back, tsame, R. setoid_rewrite slice_rexec_runs. reflexivity. Qed.

Notation through := (good_through Nat.eq_dec M R (tcon (tcontract c)) tdif tsame).
Notation idle := (good_idle Nat.eq_dec R tsame).

(** Around a base on which the mutation goes through: the contract covers every target; every top name, varied
    along one line, comes back; and, if the mutation can fail at all, is left alone by the recovery. *)
Theorem lines_decide b : goes Nat.eq_dec M b ->
  covers_all M (tcon (tcontract c)) ->
  (forall i x p, through i (along (b i) x p)) ->
  ((exists s, ~ goes Nat.eq_dec M s) -> forall i x p, idle i (along (b i) x p)) ->
  forall s, TRT files c s.
Proof.
  intros Hb Hc Ht Hi s. split; [apply covers_all_traced, Hc|]. fold M R.
  destruct (exec Nat.eq_dec M b) as [b'|] eqn:Eb; [clear Hb|destruct Hb; exact Eb].
  destruct (exec Nat.eq_dec M s) as [s'|] eqn:E.
  - apply RT_back_through; [congruence|]. intros i y Hy.
    pose proof (exec_some _ _ _ Eb i) as Hbi. rewrite slice_goes in Hbi, Hy.
    destruct (@paths_add_up V files (at_name i (tmutation c)) (at_name i (trecovery c))
       (fun q => tcon (tcontract c) (i :: q)) (b i) (b' i) (at_name_all _ i M_plain) (at_name_all _ i R_own) Hbi) with (x := s i) (y := y) as [H1 H2].
    + intros x p z Hz. rewrite <- slice_goes in Hz. destruct (Ht i x p z Hz) as [H1 H2]. split.
      * intros q Hq. apply H1. exists q. auto.
      * apply slice_back_brought, H2.
    + exact Hy.
    + split; [|apply slice_back_brought, H2]. intros a (q & -> & Hq). auto.
  - apply (RT_back_failed Nat.eq_dec _ _ _ _ _ s E). intros i. apply slice_back_brought.
    apply idle_adds_up with (b := b i); [apply at_name_all, R_own|]. intros x p. apply slice_back_brought, Hi.
    exists s. intros H. apply H, E.
Qed.

(** And where no state lets it through: coverage on a base on which it goes furthest, and the recovery alone. *)
Theorem lines_decide_always_failing b : furthest Nat.eq_dec M (fun _ _ => True) b -> ~ goes Nat.eq_dec M b ->
  covered (tcon (tcontract c)) (traced Nat.eq_dec M b) ->
  (forall i x p, idle i (along (b i) x p)) ->
  forall s, TRT files c s.
Proof.
  intros Hf Hng Hc Hi s.
  apply (proj2 (@slices_decide_always_failing _ _ _ Nat.eq_dec M R (tcon (tcontract c)) tdif tsame tsame_refl tdif_refl _ b Hf Hng)).
  - split; [exact Hc|]. intros i x _ _. apply slice_back_brought.
    apply idle_adds_up with (b := b i); [apply at_name_all, R_own|]. intros x' p. apply slice_back_brought, Hi.
  - intros i. exact I.
Qed.

Lemma slice_reach_goes i (m : list (nat * tree_op (V := V))) : forall x k, k <= length m ->
  (k <= slice_reach Nat.eq_dec (map (tree_forward files) m) i x <-> slice_exec Nat.eq_dec (map (tree_forward files) (firstn k m)) i x <> None).
Proof.
  induction m as [|[r o] m IH]; intros x k Hk.
  - simpl in *. replace k with 0 by lia. simpl. split; [discriminate|lia].
  - destruct k as [|k]; [simpl; split; [discriminate|lia]|]. simpl in Hk. simpl.
    destruct (Nat.eq_dec r i); [destruct (tree_step files o None x)|]; try (rewrite <- IH by lia; lia). split; [lia|congruence].
Qed.

Lemma at_name_app i m1 m2 : at_name i (m1 ++ m2) = at_name i m1 ++ at_name i m2.
Proof. unfold at_name. induction m1 as [|[r o] m1 IH]; simpl; auto. destruct (r =? i); simpl; now rewrite IH. Qed.

(** The furthest base is found by climbing along one line of one top name at a time. *)
Theorem climb_by_lines b s : exec Nat.eq_dec M b = None -> reach Nat.eq_dec M b < reach Nat.eq_dec M s ->
  exists i p, reach Nat.eq_dec M b < reach Nat.eq_dec M (upd Nat.eq_dec b i (along (b i) (s i) p)).
Proof.
  intros Hn Hlt. destruct (exec_none Nat.eq_dec _ _ Hn) as (i & Hi & Hr & _ & Hothers).
  set (k := reach Nat.eq_dec M b) in *.
  assert (Hs : k < slice_reach Nat.eq_dec M i (s i)) by (eapply Nat.lt_le_trans; [exact Hlt|apply reach_le]).
  assert (Hk : S k <= length (tmutation c)).
  { pose proof (slice_reach_length Nat.eq_dec M i (s i)) as L. unfold M in L. rewrite map_length in L. unfold M in Hs. lia. }
  destruct (nth_error (tmutation c) k) as [[r o]|] eqn:Eo; [|apply nth_error_None in Eo; lia].
  assert (Esplit : firstn (S k) (tmutation c) = firstn k (tmutation c) ++ [(r, o)]).
  { clear -Eo. revert Eo. generalize k, (tmutation c). clear. intros k l. revert k. induction l as [|e l IH]; intros [|k] E; simpl in *; try discriminate.
    - injection E as ->. reflexivity.
    - f_equal. apply IH, E. }
  assert (Hb1 : slice_exec Nat.eq_dec (map (tree_forward files) (firstn k (tmutation c))) i (b i) <> None)
    by (apply slice_reach_goes; [lia|]; fold M; lia).
  assert (Hb2 : ~ slice_exec Nat.eq_dec (map (tree_forward files) (firstn (S k) (tmutation c))) i (b i) <> None)
    by (rewrite <- slice_reach_goes by lia; fold M; lia).
  assert (Hs2 : slice_exec Nat.eq_dec (map (tree_forward files) (firstn (S k) (tmutation c))) i (s i) <> None)
    by (apply slice_reach_goes; [lia|]; fold M; lia).
  assert (Hplain : Forall plain (at_name i (firstn (S k) (tmutation c)))).
  { apply at_name_all. apply Forall_forall. intros e He. rewrite Forall_forall in M_plain. apply M_plain.
    rewrite <- (firstn_skipn (S k) (tmutation c)). apply in_or_app. now left. }
  rewrite slice_exec_runs in Hb1, Hb2, Hs2. rewrite Esplit, at_name_app in Hb2, Hs2, Hplain.
  destruct (Nat.eq_dec r i) as [->|N].
  2:{ exfalso. apply Hb2. replace (at_name i [(r, o)]) with ([] : list (tree_op (V := V))); [now rewrite app_nil_r|].
      unfold at_name. simpl. apply Nat.eqb_neq in N. now rewrite N. }
  replace (at_name i [(i, o)]) with [o] in * by (unfold at_name; simpl; now rewrite Nat.eqb_refl).
  exists i, (op_path o).
  pose proof Hplain as Hp1. apply Forall_app in Hp1 as [Hp1 _].
  rewrite (runs_plain files Hp1 None (b i)) in Hb1. rewrite (runs_plain files Hplain None (s i)) in Hs2.
  destruct (runs files (at_name i (firstn k (tmutation c))) (b i) (b i)) as [y|] eqn:Ey; [|congruence].
  destruct (runs files (at_name i (firstn k (tmutation c)) ++ [o]) (s i) (s i)) as [y'|] eqn:Ey'; [|congruence].
  destruct (@climb_along_a_line V files _ _ _ _ _ _ Hplain Ey Ey') as [z' Hz'].
  set (z := along (b i) (s i) (op_path o)) in *.
  assert (Hz : k < slice_reach Nat.eq_dec M i z).
  { apply slice_reach_goes; [lia|]. rewrite slice_exec_runs, Esplit, at_name_app.
    replace (at_name i [(i, o)]) with [o] by (unfold at_name; simpl; now rewrite Nat.eqb_refl).
    rewrite (runs_plain files Hplain None z), Hz'. discriminate. }
  destruct (exec Nat.eq_dec M (upd Nat.eq_dec b i z)) as [u|] eqn:Eu.
  - assert (E : reach Nat.eq_dec M (upd Nat.eq_dec b i z) = length M) by (apply reach_length; eauto).
    rewrite E. unfold M. rewrite map_length. lia.
  - destruct (exec_none Nat.eq_dec _ _ Eu) as (j & _ & <- & _). destruct (Nat.eq_dec j i) as [->|N].
    + rewrite upd_same. exact Hz.
    + rewrite upd_other by auto. apply Hothers, N.
Qed.
End Candidates.
