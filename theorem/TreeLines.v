(** * Chapter 10. Trees along one line

    A tree is looked at along one line at a time: what a walk from the top to a path [p] meets. This chapter says
    what each operation on trees does to what is seen along a line: putting ([tree_put_fails], [tree_put_below],
    [tree_put_above], [tree_put_apart]), dropping ([drop_below], [drop_other]) and pruning ([prune_other],
    [prune_above]). Nothing here is about candidates; the next chapter is. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Trees TreeCheck.
Import ListNotations.
Set Implicit Arguments.

Section Lines.
Context {V : Type}.
Notation T := (tree V).
Implicit Types (x y z : option T) (t w : T).

(** What a walk along [p] comes to: nothing at all, a leaf that stops it (with the number of names still to
    go), a leaf at the very end, a container at the very end. *)
Inductive sight := Nowhere | Behind (left : nat) | Value (v : V) | Folder.

Fixpoint see (x : option T) (p : path) : sight :=
  match x with
  | None => Nowhere
  | Some (Leaf v) => match p with [] => Value v | _ => Behind (length p) end
  | Some (Dir l) => match p with [] => Folder | n :: p' => see (lookup n l) p' end
  end.

Definition shown (s : sight) : option (option V) :=
  match s with Value v => Some (Some v) | Folder => Some None | _ => None end.

Lemma see_none p : see None p = Nowhere.
Proof. destruct p; reflexivity. Qed.

Lemma skel_see p : forall x, skel (get x p) = shown (see x p).
Proof.
  induction p as [|n p IH]; intros [[v|l]|]; simpl; auto.
Qed.

Lemma is_dir_see x p : is_dir (get x p) = true <-> see x p = Folder.
Proof.
  pose proof (skel_see p x) as H. unfold skel in H. unfold is_dir.
  destruct (get x p) as [[v|l]|], (see x p); simpl in H; split; congruence.
Qed.

(** ** Two paths *)
Definition below (p r : path) := exists s, p = r ++ s.                  (* p is at or below r *)
Definition above (p r : path) := exists n s, r = p ++ n :: s.           (* p is strictly above r *)

Lemma paths_cases : forall (r p : path), below p r \/ above p r \/ (~ below p r /\ ~ above p r).
Proof.
  intros r p. destruct (prefix r p) eqn:E1.
  - left. apply prefix_spec in E1. destruct E1 as [q ->]. now exists q.
  - destruct (prefix p r) eqn:E2.
    + right; left. apply prefix_spec in E2. destruct E2 as [[|n q] ->].
      * rewrite app_nil_r in E1. assert (prefix p p = true) by (apply prefix_spec; exists []; now rewrite app_nil_r). congruence.
      * now exists n, q.
    + right; right. split.
      * intros [s ->]. assert (prefix r (r ++ s) = true) by (apply prefix_spec; eauto). congruence.
      * intros (n & s & ->). assert (prefix p (p ++ n :: s) = true) by (apply prefix_spec; eauto). congruence.
Qed.

Lemma apart_cons n r p : ~ below (n :: p) (n :: r) /\ ~ above (n :: p) (n :: r) -> ~ below p r /\ ~ above p r.
Proof.
  intros [H1 H2]. split.
  - intros [s ->]. apply H1. now exists s.
  - intros (k & s & ->). apply H2. now exists k, s.
Qed.
Lemma apart_nil_r p : ~ (~ below p [] /\ ~ above p []).
Proof. intros [H _]. apply H. now exists p. Qed.
Lemma apart_nil_l n r : ~ (~ below [] (n :: r) /\ ~ above [] (n :: r)).
Proof. intros [_ H]. apply H. now exists n, r. Qed.

(** ** Lookups *)
Lemma lookup_remove_same n (l : list (nat * T)) : lookup n (remove n l) = None.
Proof. induction l as [|[k t] l IH]; simpl; auto. destruct (k =? n) eqn:E; auto. simpl. now rewrite E. Qed.
Lemma lookup_remove_other n m (l : list (nat * T)) : m <> n -> lookup m (remove n l) = lookup m l.
Proof.
  intros N. induction l as [|[k t] l IH]; simpl; auto. destruct (k =? n) eqn:E; simpl.
  - apply Nat.eqb_eq in E. subst. destruct (n =? m) eqn:E2; auto. apply Nat.eqb_eq in E2. congruence.
  - destruct (k =? m); auto.
Qed.
Lemma lookup_set_same n t (l : list (nat * T)) : lookup n (set n t l) = Some t.
Proof. simpl. now rewrite Nat.eqb_refl. Qed.
Lemma lookup_set_other n m t (l : list (nat * T)) : m <> n -> lookup m (set n t l) = lookup m l.
Proof.
  intros N. simpl. destruct (n =? m) eqn:E; [apply Nat.eqb_eq in E; congruence|]. now apply lookup_remove_other.
Qed.
Lemma lookup_nothing (l : list (nat * T)) : (forall n, lookup n l = None) -> l = [].
Proof. destruct l as [|[k t] l]; auto. intros H. specialize (H k). simpl in H. now rewrite Nat.eqb_refl in H. Qed.
Lemma nil_lookup (l : list (nat * T)) : nil l = true <-> forall n, lookup n l = None.
Proof.
  split.
  - destruct l; [reflexivity|discriminate].
  - intros H. now rewrite (lookup_nothing _ H).
Qed.

(** ** How a line changes *)

(** Putting something at [r] fails where a leaf stops the walk to [r]. *)
Lemma tree_put_fails r t : forall x, tree_put x r t = None <-> exists k, see x r = Behind k.
Proof.
  assert (Hnone : forall r, tree_put None r t <> None).
  { induction r0 as [|n r0 IH]; simpl; [discriminate|]. destruct (tree_put None r0 t); [discriminate|congruence]. }
  induction r as [|n r IH]; simpl; intros x.
  - split; [discriminate|]. intros [k Hk]. destruct x as [[v|l]|]; discriminate.
  - destruct x as [[v|l]|]; simpl.
    + split; eauto.
    + rewrite <- IH. destruct (tree_put (lookup n l) r t); simpl; split; congruence.
    + specialize (Hnone r). destruct (tree_put None r t); simpl; [|congruence]. split; [discriminate|intros [k Hk]; discriminate].
Qed.

Lemma tree_put_below r t s : forall x w, tree_put x r t = Some w -> see (Some w) (r ++ s) = see (Some t) s.
Proof.
  induction r as [|n r IH]; simpl; intros x y H; [congruence|].
  destruct x as [[v|l]|]; [discriminate| |].
  - destruct (tree_put (lookup n l) r t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
  - destruct (tree_put None r t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
Qed.

Lemma tree_put_above p t n s : forall x w, tree_put x (p ++ n :: s) t = Some w -> see (Some w) p = Folder.
Proof.
  induction p as [|m p IH]; simpl; intros x y H.
  - destruct x as [[v|l]|]; [discriminate| |].
    + destruct (tree_put (lookup n l) s t); [|discriminate]. now injection H as <-.
    + destruct (tree_put None s t); [|discriminate]. now injection H as <-.
  - destruct x as [[v|l]|]; [discriminate| |].
    + destruct (tree_put (lookup m l) (p ++ n :: s) t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
    + destruct (tree_put None (p ++ n :: s) t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
Qed.

Lemma tree_put_apart r t : forall p x w, ~ below p r /\ ~ above p r -> tree_put x r t = Some w -> see (Some w) p = see x p.
Proof.
  induction r as [|n r IH]; intros p x y Ha H; [destruct (apart_nil_r Ha)|].
  destruct p as [|m p]; [destruct (apart_nil_l Ha)|].
  simpl in H. destruct x as [[v|l]|]; [discriminate| |].
  - destruct (tree_put (lookup n l) r t) eqn:E; [|discriminate]. injection H as <-.
    change (see (Some (Dir (set n t0 l))) (m :: p)) with (see (lookup m (set n t0 l)) p).
    change (see (Some (Dir l)) (m :: p)) with (see (lookup m l) p).
    destruct (Nat.eq_dec m n) as [->|N].
    + rewrite lookup_set_same. apply IH with (x := lookup n l); auto. eapply apart_cons, Ha.
    + now rewrite lookup_set_other.
  - destruct (tree_put None r t) eqn:E; [|discriminate]. injection H as <-. simpl.
    destruct (n =? m) eqn:En; [|now rewrite see_none]. apply Nat.eqb_eq in En. subst m.
    rewrite (IH p None t0); auto using see_none. eapply apart_cons, Ha.
Qed.

(** Dropping [r]: what is at or below it is gone, unless the walk to it was stopped before. *)
Definition gone (s : path) (v : sight) : sight :=
  match v with Behind k => if k <=? length s then Nowhere else Behind k | _ => Nowhere end.

Lemma see_behind_bound : forall p (x : option T) k, see x p = Behind k -> k <= length p.
Proof.
  induction p as [|n p IH]; intros [[v|l]|] k H; simpl in H; try discriminate.
  - injection H as <-. simpl. auto.
  - apply IH in H. simpl. lia.
Qed.

Lemma drop_below r s : forall x, see (drop x r) (r ++ s) = gone s (see x (r ++ s)).
Proof.
  induction r as [|n r IH]; simpl; intros x.
  - rewrite see_none. unfold gone. destruct (see x s) eqn:E; auto. apply see_behind_bound in E. apply Nat.leb_le in E. now rewrite E.
  - destruct x as [[v|l]|]; auto.
    + unfold gone. simpl length. destruct (S (length (r ++ s)) <=? length s) eqn:E; auto.
      apply Nat.leb_le in E. rewrite app_length in E. lia.
    + destruct (lookup n l) as [t|] eqn:E.
      * destruct (drop (Some t) r) as [t'|] eqn:Ed.
        -- change (see (Some (Dir (set n t' l))) (n :: r ++ s)) with (see (lookup n (set n t' l)) (r ++ s)).
           rewrite lookup_set_same, <- Ed. apply IH.
        -- simpl. rewrite lookup_remove_same, see_none. rewrite <- IH, Ed. now rewrite see_none.
      * simpl. now rewrite E, see_none.
Qed.

Lemma drop_other r : forall p x, ~ below p r -> see (drop x r) p = see x p.
Proof.
  induction r as [|n r IH]; intros p x H; [destruct H; now exists p|].
  simpl. destruct x as [[v|l]|]; auto.
  destruct (lookup n l) as [t|] eqn:E; auto.
  destruct p as [|m p]; [reflexivity|].
  assert (Hb : m = n -> ~ below p r) by (intros -> [s ->]; apply H; now exists s).
  destruct (Nat.eq_dec m n) as [->|N].
  - specialize (IH p (Some t) (Hb eq_refl)).
    destruct (drop (Some t) r) as [t'|].
    + change (see (Some (Dir (set n t' l))) (n :: p)) with (see (lookup n (set n t' l)) p).
      rewrite lookup_set_same, IH. simpl. now rewrite E.
    + simpl. rewrite lookup_remove_same, E. rewrite <- IH. reflexivity.
  - destruct (drop (Some t) r) as [t'|].
    + change (see (Some (Dir (set n t' l))) (m :: p)) with (see (lookup m (set n t' l)) p). now rewrite lookup_set_other.
    + simpl. now rewrite lookup_remove_other.
Qed.

(** *** Pruning *)

Fixpoint strictly (u s : path) : bool :=                      (* u is strictly above s *)
  match u, s with
  | [], _ :: _ => true
  | n :: u', m :: s' => (n =? m) && strictly u' s'
  | _, _ => false
  end.

(** From [x] on, there is nothing but the empty containers that lead to [s]. *)
Definition bare (x : option T) (s : path) : Prop :=
  forall u, see x u = if strictly u s then Folder else Nowhere.

Lemma prune_none c : forall s t, s <> [] -> (prune (Some t) s c = None <-> length s <= c /\ bare (Some t) s).
Proof.
  induction s as [|n s IH]; intros t Hs; [congruence|]. clear Hs.
  destruct t as [v|l].
  { split; [discriminate|]. intros [_ H]. specialize (H []). discriminate. }
  destruct s as [|m s].
  - cbn [prune]. destruct ((1 <=? c) && nil l) eqn:E.
    + apply andb_true_iff in E as [Ec En]. apply Nat.leb_le in Ec. rewrite nil_lookup in En.
      split; auto. intros _. split; [exact Ec|]. intros [|k u]; [reflexivity|]. simpl. rewrite En, see_none.
      destruct (k =? n); simpl; destruct u; reflexivity.
    + split; [discriminate|]. intros [Hc Hb]. exfalso. apply andb_false_iff in E as [E|E].
      * apply Nat.leb_gt in E. simpl in Hc. lia.
      * assert (nil l = true); [|congruence]. apply nil_lookup. intros k. specialize (Hb [k]). simpl in Hb.
        replace ((k =? n) && false) with false in Hb by (destruct (k =? n); reflexivity).
        destruct (lookup k l) as [[?|?]|]; try discriminate; reflexivity.
  - assert (E : prune (Some (Dir l)) (n :: m :: s) c =
      match lookup n l with
      | None => Some (Dir l)
      | Some t => match prune (Some t) (m :: s) c with
                  | Some t' => Some (Dir (set n t' l))
                  | None => if (S (length (m :: s)) <=? c) && nil (remove n l) then None else Some (Dir (remove n l))
                  end
      end) by reflexivity.
    rewrite E. clear E. destruct (lookup n l) as [t|] eqn:El.
    + specialize (IH t ltac:(discriminate)). destruct (prune (Some t) (m :: s) c) as [t'|] eqn:Ep.
      * split; [discriminate|]. intros [Hc Hb]. assert (Some t' = None); [|discriminate]. apply IH.
        split; [simpl in *; lia|]. intros u. specialize (Hb (n :: u)). simpl in Hb. rewrite El, Nat.eqb_refl in Hb. exact Hb.
      * destruct (proj1 IH eq_refl) as [Hc Hb].
        destruct ((S (length (m :: s)) <=? c) && nil (remove n l)) eqn:E.
        -- apply andb_true_iff in E as [Ec En]. apply Nat.leb_le in Ec. rewrite nil_lookup in En. split; auto. intros _.
           split; [exact Ec|]. intros [|k u]; [reflexivity|]. cbn [strictly see].
           destruct (k =? n) eqn:Ek.
           ++ apply Nat.eqb_eq in Ek. subst. rewrite El. apply Hb.
           ++ apply Nat.eqb_neq in Ek. specialize (En k). rewrite lookup_remove_other in En by auto. now rewrite En, see_none.
        -- split; [discriminate|]. intros [Hc2 Hb2]. exfalso. apply andb_false_iff in E as [E|E].
           ++ apply Nat.leb_gt in E. simpl in *. lia.
           ++ assert (nil (remove n l) = true); [|congruence]. apply nil_lookup. intros k.
              destruct (Nat.eq_dec k n) as [->|N]; [apply lookup_remove_same|]. rewrite lookup_remove_other by auto.
              specialize (Hb2 [k]). cbn [strictly see] in Hb2.
              replace (k =? n) with false in Hb2 by (symmetry; now apply Nat.eqb_neq). simpl in Hb2.
              destruct (lookup k l) as [[?|?]|]; try discriminate; reflexivity.
    + split; [discriminate|]. intros [_ Hb]. specialize (Hb [n]). simpl in Hb.
      rewrite El, Nat.eqb_refl in Hb. discriminate.
Qed.

(** A container that is not pruned stays one; pruning deeper is the same question one name on. *)
Lemma prune_top c s t t' : prune (Some t) s c = Some t' -> see (Some t') [] = see (Some t) [].
Proof.
  destruct s as [|n s]; [intros H; now injection H as <-|]. destruct t as [v|l]; [intros H; now injection H as <-|].
  cbn [prune]. destruct s as [|m s].
  - destruct ((1 <=? c) && nil l); [discriminate|]. intros H. now injection H as <-.
  - destruct (lookup n l) as [t|]; [|intros H; now injection H as <-].
    destruct (prune (Some t) (m :: s) c); [intros H; now injection H as <-|].
    destruct (_ && _); [discriminate|]. intros H. now injection H as <-.
Qed.

Lemma prune_down c n m s l q : see (prune (Some (Dir l)) (n :: m :: s) c) (n :: q) = see (prune (lookup n l) (m :: s) c) q.
Proof.
  assert (E : prune (Some (Dir l)) (n :: m :: s) c =
      match lookup n l with
      | None => Some (Dir l)
      | Some t => match prune (Some t) (m :: s) c with
                  | Some t' => Some (Dir (set n t' l))
                  | None => if (S (length (m :: s)) <=? c) && nil (remove n l) then None else Some (Dir (remove n l))
                  end
      end) by reflexivity.
  rewrite E. clear E. destruct (lookup n l) as [t|] eqn:El.
  - destruct (prune (Some t) (m :: s) c) as [t'|].
    + change (see (Some (Dir (set n t' l))) (n :: q)) with (see (lookup n (set n t' l)) q). now rewrite lookup_set_same.
    + destruct (_ && _); simpl; rewrite ?lookup_remove_same, ?see_none; reflexivity.
  - simpl. now rewrite El, !see_none.
Qed.

Lemma prune_aside c n s l k q : k <> n -> see (prune (Some (Dir l)) (n :: s) c) (k :: q) = see (lookup k l) q.
Proof.
  intros N. destruct s as [|m s].
  - cbn [prune]. destruct ((1 <=? c) && nil l) eqn:E; [|reflexivity].
    apply andb_true_iff in E as [_ E]. rewrite nil_lookup in E. now rewrite E, !see_none.
  - assert (E : prune (Some (Dir l)) (n :: m :: s) c =
      match lookup n l with
      | None => Some (Dir l)
      | Some t => match prune (Some t) (m :: s) c with
                  | Some t' => Some (Dir (set n t' l))
                  | None => if (S (length (m :: s)) <=? c) && nil (remove n l) then None else Some (Dir (remove n l))
                  end
      end) by reflexivity.
    rewrite E. clear E. destruct (lookup n l) as [t|] eqn:El; [|reflexivity].
    destruct (prune (Some t) (m :: s) c) as [t'|].
    + change (see (Some (Dir (set n t' l))) (k :: q)) with (see (lookup k (set n t' l)) q). now rewrite lookup_set_other.
    + destruct (_ && nil (remove n l)) eqn:E.
      * apply andb_true_iff in E as [_ E]. rewrite nil_lookup in E. specialize (E k).
        rewrite lookup_remove_other in E by auto. now rewrite E, !see_none.
      * simpl. now rewrite lookup_remove_other.
Qed.

(** Nothing is seen of pruning but at containers above the path. *)
Lemma prune_other c : forall r p x, ~ above p r -> see (prune x r c) p = see x p.
Proof.
  induction r as [|n r IH]; intros p x H; [reflexivity|].
  destruct p as [|k p]; [destruct H; now exists n, r|].
  destruct x as [[v|l]|]; try reflexivity.
  destruct (Nat.eq_dec k n) as [->|N]; [|rewrite prune_aside by auto; reflexivity].
  assert (Hp : ~ above p r) by (intros (m & s & ->); apply H; now exists m, s).
  destruct r as [|m r].
  - cbn [prune]. destruct ((1 <=? c) && nil l) eqn:E; [|reflexivity].
    apply andb_true_iff in E as [_ E]. rewrite nil_lookup in E. simpl. now rewrite E, see_none.
  - rewrite prune_down, IH by auto. reflexivity.
Qed.

(** A container above the path is pruned just if it is bare and within the count. *)
Lemma prune_above c n s : forall p x,
  see (prune x (p ++ n :: s) c) p = see x p \/
  (see (prune x (p ++ n :: s) c) p = Nowhere /\ length (n :: s) <= c /\ bare (get x p) (n :: s)).
Proof.
  induction p as [|k p IH]; intros x.
  - simpl app. destruct x as [t|]; [|now left].
    destruct (prune (Some t) (n :: s) c) as [t'|] eqn:E.
    + left. eapply prune_top, E.
    + right. apply prune_none in E; [|discriminate]. split; [reflexivity|exact E].
  - destruct x as [[v|l]|]; try (now left).
    destruct (p ++ n :: s) as [|m q] eqn:E; [destruct p; discriminate|].
    change ((k :: p) ++ n :: s) with (k :: (p ++ n :: s)). rewrite E, prune_down. apply IH.
Qed.

Lemma prune_above_bare c n s : forall p x, length (n :: s) <= c -> bare (get x p) (n :: s) ->
  see (prune x (p ++ n :: s) c) p = Nowhere.
Proof.
  induction p as [|k p IH]; intros x Hc Hb.
  - simpl in *. destruct x as [t|]; [|reflexivity].
    assert (prune (Some t) (n :: s) c = None) as E by (apply prune_none; [discriminate|auto]). simpl in E. now rewrite E.
  - destruct x as [[v|l]|]; try (specialize (Hb []); simpl in Hb; discriminate).
    destruct (p ++ n :: s) as [|m q] eqn:E; [destruct p; discriminate|].
    change ((k :: p) ++ n :: s) with (k :: (p ++ n :: s)). rewrite E, prune_down. apply IH; auto.
Qed.

(** Sights below a path. *)
Lemma see_app p s : forall x t, get x p = Some t -> see x (p ++ s) = see (Some t) s.
Proof.
  induction p as [|n p IH]; simpl; intros x t H; [congruence|].
  destruct x as [[v|l]|]; try discriminate. simpl. auto.
Qed.
Lemma see_nowhere_app p s : forall x, see x p = Nowhere -> see x (p ++ s) = Nowhere.
Proof.
  induction p as [|n p IH]; simpl; intros [[v|l]|] H; try discriminate; auto using see_none.
Qed.
Lemma see_behind_app p s : forall x k, see x p = Behind k -> see x (p ++ s) = Behind (k + length s).
Proof.
  induction p as [|n p IH]; simpl; intros [[v|l]|] k H; try discriminate.
  - injection H as <-. simpl. f_equal. rewrite app_length. lia.
  - auto.
Qed.
Lemma get_none_see x p : get x p = None <-> see x p = Nowhere \/ exists k, see x p = Behind k.
Proof.
  pose proof (skel_see p x) as H. destruct (get x p) as [[v|l]|], (see x p); simpl in H; try discriminate;
    split; intros A; try discriminate; eauto; destruct A as [A|[k A]]; discriminate.
Qed.

(** A container is missing just if the capture saw nothing there. *)
Lemma missing_none n s : forall p (x : option T), get x p = None -> length (n :: s) <= missing x (p ++ n :: s).
Proof.
  induction p as [|k p IH]; intros x H; simpl in *.
  - subst. simpl. lia.
  - destruct x as [[v|l]|]; simpl; auto; rewrite app_length; simpl; lia.
Qed.
Lemma missing_some n s : forall p (x : option T) t, get x p = Some t -> missing x (p ++ n :: s) < length (n :: s).
Proof.
  induction p as [|k p IH]; intros x t H; simpl in *.
  - subst. destruct t as [v|l]; simpl; [lia|].
    assert (forall q (y : option T), missing y q <= length q) as G.
    { induction q as [|m q IHq]; simpl; intros y; auto. destruct y as [[v|l']|]; auto. }
    specialize (G s (lookup n l)). lia.
  - destruct x as [[v|l]|]; try discriminate. simpl. eauto.
Qed.

End Lines.
