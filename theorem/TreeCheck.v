(** * Chapter 9. Deciding about trees by top names

    The round trip on trees as a program, proved to say what [TRT] says ([trtb_spec]), and the search of chapter 2 over
    any finite set of contents of each top name ([tree_search_correct]). Both are extracted as an oracle. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components FiniteSearch Trees.
Import ListNotations.
Set Implicit Arguments.

Section Check.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Notation T := (tree V).

(** Every path at which something stands. *)
Fixpoint paths (t : T) : list path :=
  match t with
  | Leaf _ => [[]]
  | Dir l => [] :: flat_map (fun kt => map (cons (fst kt)) (paths (snd kt))) l
  end.
Definition opaths (x : option T) : list path := match x with Some t => paths t | None => [] end.

Lemma lookup_in n l (t : T) : lookup n l = Some t -> In (n, t) l.
Proof.
  induction l as [|[k u] l IH]; simpl; [discriminate|].
  destruct (k =? n) eqn:E; auto. intros H. injection H as ->. apply Nat.eqb_eq in E. subst. auto.
Qed.

Lemma get_paths p : forall x : option T, get x p <> None -> In p (opaths x).
Proof.
  induction p as [|n p IH]; simpl; intros x H.
  - destruct x as [[v|l]|]; simpl; auto.
  - destruct x as [[v|l]|]; try congruence. simpl. right.
    destruct (lookup n l) as [t|] eqn:E; [|destruct p; simpl in H; congruence].
    apply in_flat_map. exists (n, t). split; [apply lookup_in, E|]. simpl. apply in_map. apply (IH (Some t)), H.
Qed.

Definition skel_dec : forall a b : option (option V), {a = b} + {a <> b}.
Proof. decide equality. decide equality. Defined.

Definition both (x y : option T) : list path := opaths x ++ opaths y.

Definition tsameb (x y : option T) : bool :=
  forallb (fun p => if skel_dec (skel (get x p)) (skel (get y p)) then true else false) (both x y).

Lemma nowhere x y p : ~ In p (both x y) -> get x p = None /\ get y p = None.
Proof.
  unfold both. rewrite in_app_iff. intros N. split.
  - destruct (get x p) eqn:E; auto. destruct N. left. apply get_paths. congruence.
  - destruct (get y p) eqn:E; auto. destruct N. right. apply get_paths. congruence.
Qed.

Lemma path_in_dec (p : path) l : {In p l} + {~ In p l}.
Proof. apply in_dec, list_eq_dec, Nat.eq_dec. Qed.

Lemma tsameb_spec i x y : tsameb x y = true <-> tsame i x y.
Proof.
  unfold tsameb, tsame. rewrite forallb_forall. split.
  - intros H p. destruct (path_in_dec p (both x y)) as [Hin|N].
    + specialize (H p Hin). destruct (skel_dec _ _); [auto|discriminate].
    + destruct (nowhere x y p N) as [-> ->]. reflexivity.
  - intros H p _. rewrite H. destruct (skel_dec _ _); congruence.
Qed.

Definition differb (x y : option T) : bool :=
  match x, y with
  | Some (Dir _), Some (Dir _) => false
  | None, Some (Dir (_ :: _)) => false
  | Some (Dir (_ :: _)), None => false
  | _, _ => if skel_dec (skel x) (skel y) then false else true
  end.
Lemma differb_spec x y : differb x y = true <-> differ x y.
Proof.
  unfold differb, differ. destruct x as [[v|[|e l]]|], y as [[u|[|e' l']]|];
    try (split; [discriminate|tauto]); destruct (skel_dec _ _); split; try congruence; try tauto.
Qed.

Fixpoint prefix (p a : path) : bool :=
  match p, a with
  | [], _ => true
  | n :: p', k :: a' => (n =? k) && prefix p' a'
  | _, [] => false
  end.
Lemma prefix_spec p : forall a, prefix p a = true <-> exists q, a = p ++ q.
Proof.
  induction p as [|n p IH]; simpl; intros a.
  - split; eauto.
  - destruct a as [|k a]; [split; [discriminate|intros [q Hq]; discriminate]|].
    rewrite andb_true_iff, Nat.eqb_eq, IH. split.
    + intros [-> [q ->]]. eauto.
    + intros [q Hq]. injection Hq as -> ->. eauto.
Qed.

Definition tconb (c : list path) (a : path) : bool := existsb (fun p => prefix p a) c.
Lemma tconb_spec c a : tconb c a = true <-> tcon c a.
Proof.
  unfold tconb, tcon. rewrite existsb_exists. split.
  - intros (p & Hin & Hp). apply prefix_spec in Hp as [q Hq]. eauto.
  - intros (p & q & Hin & Hq). exists p. split; auto. apply prefix_spec. eauto.
Qed.

Variable files : bool.
Variable c : tree_candidate (V := V).
Let M := map (tree_forward files) (tmutation c).
Let R := map (tree_recovery files) (trecovery c).
Definition roots : list nat := map fst (tmutation c) ++ map fst (trecovery c).

Definition slice_backb (i : nat) (x y : option T) : bool :=
  match slice_rexec Nat.eq_dec R i x y with Some z => tsameb z x | None => false end.
Definition difb (i : nat) (x y : option T) : bool :=
  forallb (fun p => negb (differb (get x p) (get y p)) || tconb (tcontract c) (i :: p)) (both x y).

Definition trtb (s : nat -> option T) : bool :=
  forallb (tconb (tcontract c)) (traced Nat.eq_dec M s) &&
  match exec Nat.eq_dec M s with
  | Some s' => forallb (fun i => difb i (s i) (s' i) && slice_backb i (s i) (s' i)) roots
  | None => forallb (fun i => slice_backb i (s i) (s i)) roots
  end.

Lemma slice_backb_spec i x y : slice_backb i x y = true <-> slice_back Nat.eq_dec R tsame i x y.
Proof.
  unfold slice_backb, slice_back. destruct (slice_rexec Nat.eq_dec R i x y) as [z|].
  - rewrite (tsameb_spec i). split; [eauto|]. intros (z' & E & H). congruence.
  - split; [discriminate|]. intros (z' & E & _). discriminate.
Qed.

Lemma difb_spec i x y : difb i x y = true <-> forall a, tdif i x y a -> tcon (tcontract c) a.
Proof.
  unfold difb. rewrite forallb_forall. split.
  - intros H a (p & -> & Hd). destruct (path_in_dec p (both x y)) as [Hin|N].
    + specialize (H p Hin). apply differb_spec in Hd. rewrite Hd in H. simpl in H. apply tconb_spec, H.
    + destruct (nowhere x y p N) as [E1 E2]. rewrite E1, E2 in Hd. simpl in Hd. congruence.
  - intros H p _. destruct (differb (get x p) (get y p)) eqn:E; simpl; auto.
    apply tconb_spec, H. exists p. split; auto. apply differb_spec, E.
Qed.

Lemma roots_named i : In i (named M R) <-> In i roots.
Proof.
  unfold named, roots, M, R. rewrite !map_map. simpl. reflexivity.
Qed.

Theorem trtb_spec s : trtb s = true <-> TRT files c s.
Proof.
  unfold trtb, TRT, RT_trace. fold M R. rewrite andb_true_iff, forallb_forall.
  assert (Hcov : (forall a, In a (traced Nat.eq_dec M s) -> tconb (tcontract c) a = true) <->
                 covered (tcon (tcontract c)) (traced Nat.eq_dec M s)).
  { unfold covered. split; intros H a Ha; apply tconb_spec, H, Ha. }
  rewrite Hcov. apply and_iff_compat_l.
  assert (Hun : forall i x, ~ In i roots ->
            good_through Nat.eq_dec M R (tcon (tcontract c)) tdif tsame i x /\ good_idle Nat.eq_dec R tsame i x).
  { intros i x N. apply unnamed_good; [apply tsame_refl|apply tdif_refl|]. rewrite roots_named. exact N. }
  destruct (exec Nat.eq_dec M s) as [s'|] eqn:E.
  - rewrite RT_back_through by congruence. rewrite forallb_forall. split.
    + intros H i. destruct (in_dec Nat.eq_dec i roots) as [Hin|N]; [|apply Hun, N].
      intros y Hy. rewrite (exec_some _ _ _ E i) in Hy. injection Hy as <-.
      specialize (H i Hin). apply andb_true_iff in H as [H1 H2].
      split; [apply difb_spec, H1|apply slice_backb_spec, H2].
    + intros H i _. destruct (H i (s' i) (exec_some _ _ _ E i)) as [H1 H2].
      apply andb_true_iff. split; [apply difb_spec, H1|apply slice_backb_spec, H2].
  - rewrite (RT_back_failed Nat.eq_dec _ _ _ _ _ s E). rewrite forallb_forall. split.
    + intros H i. destruct (in_dec Nat.eq_dec i roots) as [Hin|N]; [|apply Hun, N].
      apply slice_backb_spec, H, Hin.
    + intros H i _. apply slice_backb_spec, H.
Qed.
End Check.

(** ** For trees *)
Section TreeSearch.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable files : bool.
Variable c : tree_candidate (V := V).
Variable first : nat -> option (tree V).
Variable others : nat -> list (option (tree V)).

Definition tree_search : bool :=
  search (map (tree_forward files) (tmutation c)) (map (tree_recovery files) (trecovery c)) (trtb V_dec files c) first others.

Theorem tree_search_correct :
  tree_search = true <-> forall s, (forall i, In (s i) (first i :: others i)) -> TRT files c s.
Proof.
  apply search_correct; [apply tsame_refl|apply tdif_refl|apply trtb_spec].
Qed.
End TreeSearch.

(** The hole, by running it: it holds where one of the two is a directory, and fails where none is. *)
Example hole_by_running :
  let rt := trtb Nat.eq_dec true hole_files in
  rt dirs = true /\ rt (upd Nat.eq_dec dirs a None) = true /\ rt (upd Nat.eq_dec dirs b None) = true /\
  rt (fun _ => None) = false.
Proof. vm_compute. auto. Qed.
