(** * Chapter 8. Data independence for trees

    Replacing the contents of all leaves by a function [h] commutes with put, drop, prune, capture and restore. So a
    round trip that holds on a tree with generic leaves holds on every tree of the same shape ([TRT_kept]), and if [h]
    is injective one that fails still fails ([TRT_reflected]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Trees.
Import ListNotations.
Set Implicit Arguments.

Section Map.
Variables (A B : Type) (h : A -> B).

Fixpoint tmap (t : tree A) : tree B :=
  match t with
  | Leaf v => Leaf (h v)
  | Dir l => Dir (map (fun kt => (fst kt, tmap (snd kt))) l)
  end.
Notation omap := (option_map tmap).
Notation lmap := (map (fun kt : nat * tree A => (fst kt, tmap (snd kt)))).

Lemma lookup_map n l : lookup n (lmap l) = omap (lookup n l).
Proof. induction l as [|[k t] l IH]; simpl; auto. destruct (k =? n); auto. Qed.
Lemma remove_map n l : remove n (lmap l) = lmap (remove n l).
Proof. induction l as [|[k t] l IH]; simpl; auto. destruct (k =? n); simpl; auto. now rewrite IH. Qed.
Lemma set_map n t l : set n (tmap t) (lmap l) = lmap (set n t l).
Proof. unfold set. simpl. now rewrite remove_map. Qed.
Lemma nil_map l : nil (lmap l) = nil l.
Proof. destruct l; reflexivity. Qed.

Lemma get_map p : forall x, get (omap x) p = omap (get x p).
Proof.
  induction p as [|n p IH]; simpl; intros x; auto.
  destruct x as [[v|l]|]; simpl; auto. rewrite lookup_map. apply IH.
Qed.

Lemma tree_put_map p v : forall x, tree_put (omap x) p (tmap v) = omap (tree_put x p v).
Proof.
  induction p as [|n p IH]; simpl; intros x; auto.
  destruct x as [[u|l]|]; simpl; auto.
  - rewrite lookup_map, IH. destruct (tree_put (lookup n l) p v); simpl; auto. now rewrite set_map.
  - specialize (IH None). simpl in IH. rewrite IH. destruct (tree_put None p v); simpl; auto.
Qed.

Lemma drop_map p : forall x, drop (omap x) p = omap (drop x p).
Proof.
  induction p as [|n p IH]; simpl; intros x; auto.
  destruct x as [[u|l]|]; simpl; auto.
  rewrite lookup_map. destruct (lookup n l) as [t|]; simpl; auto.
  specialize (IH (Some t)). simpl in IH. rewrite IH.
  destruct (drop (Some t) p); simpl; [now rewrite set_map|now rewrite remove_map].
Qed.

Lemma missing_map p : forall x, missing (omap x) p = missing x p.
Proof.
  induction p as [|n p IH]; simpl; intros x; auto.
  destruct x as [[u|l]|]; simpl; auto. rewrite lookup_map. apply IH.
Qed.

Lemma prune_map p c : forall x, prune (omap x) p c = omap (prune x p c).
Proof.
  induction p as [|n p IH]; intros x; auto.
  destruct x as [[u|l]|]; auto.
  destruct p as [|n' p].
  - cbn -[Nat.leb]. rewrite nil_map. destruct ((1 <=? c) && nil l); reflexivity.
  - change (prune (omap (Some (Dir l))) (n :: n' :: p) c) with
      (match lookup n (lmap l) with
       | None => Some (Dir (lmap l))
       | Some t => match prune (Some t) (n' :: p) c with
                   | Some t' => Some (Dir (set n t' (lmap l)))
                   | None => if (S (length (n' :: p)) <=? c) && nil (remove n (lmap l)) then None
                             else Some (Dir (remove n (lmap l)))
                   end
       end).
    change (prune (Some (Dir l)) (n :: n' :: p) c) with
      (match lookup n l with
       | None => Some (Dir l)
       | Some t => match prune (Some t) (n' :: p) c with
                   | Some t' => Some (Dir (set n t' l))
                   | None => if (S (length (n' :: p)) <=? c) && nil (remove n l) then None
                             else Some (Dir (remove n l))
                   end
       end).
    rewrite lookup_map. destruct (lookup n l) as [t|]; [|reflexivity].
    specialize (IH (Some t)). cbn [option_map] in IH. cbn [option_map]. rewrite IH.
    destruct (prune (Some t) (n' :: p) c) as [t'|]; cbn [option_map].
    + now rewrite set_map.
    + rewrite remove_map, nil_map. destruct (_ && _); reflexivity.
Qed.

Lemma is_dir_map x : is_dir (omap x) = is_dir x.
Proof. destruct x as [[v|l]|]; reflexivity. Qed.

Definition map_tree_op (o : tree_op (V := A)) : tree_op (V := B) :=
  match o with Write p t => Write p (tmap t) | Unset p => Unset p | Restore p q => Restore p q end.

Lemma tree_step_map files o x0 x : tree_step files (map_tree_op o) (omap x0) (omap x) = option_map omap (tree_step files o x0 x).
Proof.
  destruct o as [p t|p|p q]; simpl.
  - rewrite get_map, is_dir_map. destruct (_ && _); auto. rewrite tree_put_map. destruct (tree_put x p t); reflexivity.
  - rewrite get_map, is_dir_map. destruct (_ && _); auto. rewrite drop_map. reflexivity.
  - rewrite get_map. destruct (get x0 q) as [t|]; simpl.
    + rewrite tree_put_map. destruct (tree_put x p t); reflexivity.
    + rewrite get_map, is_dir_map. destruct (_ && _); auto. simpl.
      destruct (list_eq_dec Nat.eq_dec p q); rewrite drop_map; auto. now rewrite missing_map, prune_map.
Qed.

Definition map_prog (p : list (nat * tree_op (V := A))) : list (nat * tree_op (V := B)) :=
  map (fun ro => (fst ro, map_tree_op (snd ro))) p.
Definition map_tree_candidate (c : tree_candidate (V := A)) : tree_candidate (V := B) :=
  TCandidate (map_prog (tmutation c)) (map_prog (trecovery c)) (tcontract c).

Variable files : bool.

Lemma slice_exec_map m i : forall x,
  slice_exec Nat.eq_dec (map (tree_forward files) (map_prog m)) i (omap x) =
  option_map omap (slice_exec Nat.eq_dec (map (tree_forward files) m) i x).
Proof.
  induction m as [|[r o] m IH]; simpl; intros x; auto.
  destruct (Nat.eq_dec r i); auto.
  pose proof (tree_step_map files o None x) as E. simpl in E. rewrite E.
  destruct (tree_step files o None x); simpl; auto.
Qed.

Lemma slice_reach_map m i : forall x,
  slice_reach Nat.eq_dec (map (tree_forward files) (map_prog m)) i (omap x) =
  slice_reach Nat.eq_dec (map (tree_forward files) m) i x.
Proof.
  induction m as [|[r o] m IH]; simpl; intros x; auto.
  destruct (Nat.eq_dec r i); auto.
  pose proof (tree_step_map files o None x) as E. simpl in E. rewrite E.
  destruct (tree_step files o None x); simpl; auto.
Qed.

Lemma slice_rexec_map r i x0 : forall x,
  slice_rexec Nat.eq_dec (map (tree_recovery files) (map_prog r)) i (omap x0) (omap x) =
  option_map omap (slice_rexec Nat.eq_dec (map (tree_recovery files) r) i x0 x).
Proof.
  induction r as [|[k o] r IH]; simpl; intros x; auto.
  destruct (Nat.eq_dec k i); auto. rewrite tree_step_map.
  destruct (tree_step files o x0 x); simpl; auto.
Qed.

Definition trel (s : nat -> option (tree A)) (t : nat -> option (tree B)) := forall i, t i = omap (s i).

Lemma paths_map m : map (@faddresses _ _ _) (map (tree_forward files) (map_prog m)) = map (@faddresses _ _ _) (map (tree_forward files) m).
Proof.
  unfold map_prog. rewrite !map_map. apply map_ext. intros [r o]. simpl. destruct o; reflexivity.
Qed.

Lemma reach_map m s t : trel s t ->
  reach Nat.eq_dec (map (tree_forward files) (map_prog m)) t = reach Nat.eq_dec (map (tree_forward files) m) s.
Proof.
  intros H. rewrite !reach_is_min. unfold map_prog. rewrite !map_length, !map_map. f_equal.
  apply map_ext. intros [r o]. simpl. rewrite H.
  pose proof (slice_reach_map m r (s r)) as E. unfold map_prog in E. rewrite map_map in E. exact E.
Qed.

Lemma traced_map m s t : trel s t ->
  traced Nat.eq_dec (map (tree_forward files) (map_prog m)) t = traced Nat.eq_dec (map (tree_forward files) m) s.
Proof.
  intros H. rewrite !traced_firstn, (reach_map m H), <- !firstn_map, paths_map. reflexivity.
Qed.

Lemma skel_map x : skel (omap x) = option_map (option_map h) (skel x).
Proof. destruct x as [[v|l]|]; reflexivity. Qed.

Lemma differ_map x y : differ (omap x) (omap y) -> differ x y.
Proof.
  unfold differ. destruct x as [[v|[|e l]]|], y as [[u|[|e' l']]|]; simpl; auto; try congruence.
Qed.

(** Whatever the contents of the leaves become, what held still holds. *)
Theorem TRT_kept c s t : trel s t -> TRT files c s -> TRT files (map_tree_candidate c) t.
Proof.
  intros H [Hc Hb]. split; [simpl; rewrite (traced_map (tmutation c) H); exact Hc|].
  unfold map_tree_candidate; simpl.
  pose proof (reach_map (tmutation c) H) as Er.
  assert (Hlb : forall i x y, slice_back Nat.eq_dec (map (tree_recovery files) (trecovery c)) tsame i x y ->
                slice_back Nat.eq_dec (map (tree_recovery files) (map_prog (trecovery c))) tsame i (omap x) (omap y)).
  { intros i x y (z & Hz & Hsame). exists (omap z). split.
    - rewrite slice_rexec_map, Hz. reflexivity.
    - intros p. rewrite !get_map, !skel_map, Hsame. reflexivity. }
  assert (Hlen : length (map (tree_forward files) (map_prog (tmutation c))) = length (map (tree_forward files) (tmutation c))).
  { unfold map_prog. now rewrite !map_length. }
  destruct (exec Nat.eq_dec (map (tree_forward files) (tmutation c)) s) as [s'|] eqn:E.
  - assert (Hs : exec Nat.eq_dec (map (tree_forward files) (tmutation c)) s <> None) by congruence.
    assert (Ht : exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t <> None).
    { destruct (proj1 (reach_length Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t)) as [t' Ht']; [|congruence].
      rewrite Er, Hlen. apply reach_length. eauto. }
    apply RT_back_through; auto. intros i y Hy. rewrite H, slice_exec_map in Hy.
    destruct (slice_exec Nat.eq_dec (map (tree_forward files) (tmutation c)) i (s i)) as [y0|] eqn:Ey; [|discriminate].
    injection Hy as <-.
    destruct (proj1 (RT_back_through Nat.eq_dec _ _ _ _ _ s Hs) Hb i y0 Ey) as [Hd Hl].
    split.
    + intros ad (p & -> & Hdiff). apply Hd. exists p. split; auto.
      rewrite H, !get_map in Hdiff. apply differ_map, Hdiff.
    + rewrite H. apply Hlb, Hl.
  - assert (Ht : exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t = None).
    { destruct (exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t) as [t'|] eqn:Et; auto.
      assert (reach Nat.eq_dec (map (tree_forward files) (tmutation c)) s = length (map (tree_forward files) (tmutation c))) as Hr.
      { rewrite <- Er, <- Hlen. apply reach_length. eauto. }
      apply reach_length in Hr as [? ?]. congruence. }
    apply RT_back_failed; auto. intros i. unfold good_idle. rewrite H. apply Hlb.
    apply (proj1 (RT_back_failed Nat.eq_dec _ _ _ _ _ s E) Hb i).
Qed.

(** ** The other direction: contents that differ stay different *)
Hypothesis h_inj : forall a b, h a = h b -> a = b.

Lemma skel_inj x y : skel (omap x) = skel (omap y) -> skel x = skel y.
Proof.
  rewrite !skel_map. destruct (skel x) as [[a|]|], (skel y) as [[b|]|]; simpl; intros H; try congruence.
  injection H as H. now rewrite (h_inj H).
Qed.
Lemma differ_map_back x y : differ x y -> differ (omap x) (omap y).
Proof.
  unfold differ. destruct x as [[v|[|e l]]|], y as [[u|[|e' l']]|]; simpl; auto; intros N H; apply N; try congruence.
  injection H as H. now rewrite (h_inj H).
Qed.

(** So a refutation on generic leaves is one on every tree with leaves of their own. *)
Theorem TRT_reflected c s t : trel s t -> TRT files (map_tree_candidate c) t -> TRT files c s.
Proof.
  intros H [Hc Hb]. simpl in Hc. rewrite (traced_map (tmutation c) H) in Hc. split; [exact Hc|]. simpl in Hb.
  pose proof (reach_map (tmutation c) H) as Er.
  assert (Hlb : forall i x y, slice_back Nat.eq_dec (map (tree_recovery files) (map_prog (trecovery c))) tsame i (omap x) (omap y) ->
                slice_back Nat.eq_dec (map (tree_recovery files) (trecovery c)) tsame i x y).
  { intros i x y (z & Hz & Hsame). rewrite slice_rexec_map in Hz.
    destruct (slice_rexec Nat.eq_dec (map (tree_recovery files) (trecovery c)) i x y) as [z0|] eqn:E; [|discriminate]. injection Hz as <-.
    exists z0. split; auto. intros p. apply skel_inj. rewrite <- !get_map. apply Hsame. }
  assert (Hlen : length (map (tree_forward files) (map_prog (tmutation c))) = length (map (tree_forward files) (tmutation c))).
  { unfold map_prog. now rewrite !map_length. }
  destruct (exec Nat.eq_dec (map (tree_forward files) (tmutation c)) s) as [s'|] eqn:E.
  - assert (Ht : exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t <> None).
    { destruct (proj1 (reach_length Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t)) as [t' Ht']; [|congruence].
      rewrite Er, Hlen. apply reach_length. eauto. }
    apply RT_back_through; [congruence|]. intros i y Hy.
    destruct (proj1 (RT_back_through Nat.eq_dec _ _ _ _ _ t Ht) Hb i (omap y)) as [Hd Hl].
    { rewrite H, slice_exec_map, Hy. reflexivity. }
    split.
    + intros ad (p & -> & Hdiff). apply Hd. exists p. split; auto. rewrite H, !get_map. apply differ_map_back, Hdiff.
    + apply Hlb. rewrite <- H. exact Hl.
  - assert (Ht : exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t = None).
    { destruct (exec Nat.eq_dec (map (tree_forward files) (map_prog (tmutation c))) t) as [t'|] eqn:Et; auto.
      assert (reach Nat.eq_dec (map (tree_forward files) (tmutation c)) s = length (map (tree_forward files) (tmutation c))) as Hr.
      { rewrite <- Er, <- Hlen. apply reach_length. eauto. }
      apply reach_length in Hr as [? ?]. congruence. }
    apply RT_back_failed; auto. intros i. apply Hlb. rewrite <- H.
    apply (proj1 (RT_back_failed Nat.eq_dec _ _ _ _ _ t Ht) Hb i).
Qed.

End Map.
