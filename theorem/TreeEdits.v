(** * Chapter 16. Edits in trees: whatever they leave

    [edit_file], [append_config], [insert_config] and [remove_config_item] look into the value at a path: any function
    that may fail, on a text or on a list (a list is one value of a tree). Blurred, an edit fails where there is no
    value and otherwise leaves a content nobody knows, one for every edit. If the blurred candidate holds on a tree,
    and the recovery changes nothing where nothing was changed, the real candidate holds on it, for any edits. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Trees TreeContents TreeLines TreePaths Edits.
Import ListNotations.
Set Implicit Arguments.

(** Replacing contents twice, and by themselves. *)
Lemma tmap_back (A B : Type) (f : A -> B) (h : B -> A) : (forall a, h (f a) = a) -> forall t, tmap h (tmap f t) = t.
Proof.
  intros H. fix IH 1. intros [v|l]; simpl; [now rewrite H|]. f_equal.
  induction l as [|[n t] l IHl]; simpl; [reflexivity|]. rewrite IH. f_equal. exact IHl.
Qed.

Section TreeEdits.
Context {V : Type}.
Variable files : bool.
Notation T := (tree V).
Notation U := (nat + V)%type.

Inductive teop : Type :=
| TPlain (o : tree_op (V := V))
| TEdit (r : path) (f : V -> option V).
Definition tepath (o : teop) : path := match o with TPlain o => op_path o | TEdit r _ => r end.

Definition testep (o : teop) (x : option T) : option (option T) :=
  match o with
  | TPlain o => tree_step files o None x
  | TEdit r f => match get x r with
                 | Some (Leaf v) => match f v with Some v' => option_map Some (tree_put x r (Leaf v')) | None => None end
                 | _ => None
                 end
  end.
Fixpoint teruns (m : list teop) (x : option T) : option (option T) :=
  match m with [] => Some x | o :: m' => match testep o x with Some y => teruns m' y | None => None end end.
Fixpoint tetrace (m : list teop) (x : option T) : list path :=
  match m with [] => [] | o :: m' => match testep o x with Some y => tepath o :: tetrace m' y | None => [] end end.

(** Blurred: the unknown content of an edit is numbered by how many operations follow it. *)
Definition tbstep (n : nat) (o : teop) (b : option (tree U)) : option (option (tree U)) :=
  match o with
  | TPlain o => tree_step files (map_tree_op inr o) None b
  | TEdit r _ => match get b r with Some (Leaf _) => option_map Some (tree_put b r (Leaf (inl n))) | _ => None end
  end.
Fixpoint tbruns (m : list teop) (b : option (tree U)) : option (option (tree U)) :=
  match m with [] => Some b | o :: m' => match tbstep (length m') o b with Some b' => tbruns m' b' | None => None end end.
Fixpoint tbtrace (m : list teop) (b : option (tree U)) : list path :=
  match m with [] => [] | o :: m' => match tbstep (length m') o b with Some b' => tepath o :: tbtrace m' b' | None => [] end end.

(** What the edits of a real run left. *)
Fixpoint results (d : V) (m : list teop) (x : option T) : nat -> V :=
  match m with
  | [] => fun _ => d
  | o :: m' => match testep o x with
               | Some y => fun n => if n =? length m'
                                    then match o, get y (tepath o) with TEdit _ _, Some (Leaf v) => v | _, _ => d end
                                    else results d m' y n
               | None => fun _ => d
               end
  end.

Lemma tree_put_get r (t : T) : forall x w, tree_put x r t = Some w -> get (Some w) r = Some t.
Proof.
  induction r as [|n r IH]; simpl; intros x w H; [congruence|].
  destruct x as [[v|l]|]; [discriminate| |].
  - destruct (tree_put (lookup n l) r t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
  - destruct (tree_put None r t) eqn:E; [|discriminate]. injection H as <-. simpl. rewrite Nat.eqb_refl. eauto.
Qed.

Lemma map_tree_op_back (h : nat -> V) (o : tree_op (V := V)) : map_tree_op (val h) (map_tree_op inr o) = o.
Proof. destruct o; simpl; auto. now rewrite tmap_back. Qed.

(** One step of both. *)
Lemma testep_blurred d h (m : list teop) o b y : h (length m) = match o, get y (tepath o) with TEdit _ _, Some (Leaf v) => v | _, _ => d end \/ (exists p, o = TPlain p) ->
  testep o (option_map (tmap (val h)) b) = Some y ->
  exists b', tbstep (length m) o b = Some b' /\ y = option_map (tmap (val h)) b'.
Proof.
  intros Hh H. destruct o as [o|r f]; simpl in *.
  - pose proof (tree_step_map (val h) files (map_tree_op inr o) None b) as E. rewrite map_tree_op_back in E. simpl in E. rewrite E in H.
    destruct (tree_step files (map_tree_op inr o) None b) as [b'|]; [|discriminate]. injection H as <-. eauto.
  - rewrite get_map in H. destruct (get b r) as [[u|l]|] eqn:G; simpl in H; try discriminate.
    destruct (f (val h u)) as [v'|]; [|discriminate].
    destruct (tree_put (option_map (tmap (val h)) b) r (Leaf v')) as [w|] eqn:E; [|discriminate]. injection H as <-.
    destruct Hh as [Hh|[p Hp]]; [|discriminate]. rewrite (tree_put_get _ _ _ E) in Hh.
    pose proof (tree_put_map (val h) r (Leaf (inl (length m))) b) as E2. simpl in E2. rewrite Hh, E in E2.
    destruct (tree_put b r (Leaf (inl (length m)))) as [b'|]; [|discriminate]. simpl in E2. injection E2 as ->. eexists. split; reflexivity.
Qed.

Lemma results_here d m o x y (h : nat -> V) : testep o x = Some y -> (forall n, n < S (length m) -> h n = results d (o :: m) x n) ->
  h (length m) = match o, get y (tepath o) with TEdit _ _, Some (Leaf v) => v | _, _ => d end /\
  forall n, n < length m -> h n = results d m y n.
Proof.
  intros E H. simpl in H. rewrite E in H. split.
  - rewrite H by lia. now rewrite Nat.eqb_refl.
  - intros n Hn. rewrite H by lia. assert (n =? length m = false) as -> by (apply Nat.eqb_neq; lia). reflexivity.
Qed.

(** A real run that goes through is the blurred one with the results filled in; and its trace is no longer. *)
Lemma teruns_blurred d m : forall h b x, (forall n, n < length m -> h n = results d m x n) -> x = option_map (tmap (val h)) b ->
  incl (tetrace m x) (tbtrace m b) /\
  forall y, teruns m x = Some y -> exists b', tbruns m b = Some b' /\ y = option_map (tmap (val h)) b'.
Proof.
  induction m as [|o m IH]; intros h b x Hh Hx.
  - split; [apply incl_refl|]. simpl. intros y Hy. injection Hy as <-. eauto.
  - cbn [tetrace teruns tbtrace tbruns]. destruct (testep o x) as [y1|] eqn:E.
    + destruct (results_here _ _ _ _ _ E Hh) as [H1 H2].
      subst x. destruct (@testep_blurred d h m o b y1 (or_introl H1) E) as (b1 & -> & ->).
      destruct (IH h b1 _ H2 eq_refl) as [H3 H4]. split; [|exact H4].
      intros p [<-|Hp]; [left; reflexivity|right; auto].
    + split; [intros p []|discriminate].
Qed.

Variables (m : list teop) (r : list (tree_op (V := V))) (covered : path -> Prop).

(** The real round trip on a tree, and the blurred one. *)
Definition real_trip (x : option T) : Prop :=
  (forall p, In p (tetrace m x) -> covered p) /\
  match teruns m x with
  | Some y => (forall p, differ (get x p) (get y p) -> covered p) /\ brought_back files r x y
  | None => brought_back files r x x
  end.
Definition blurred_trip (b : option (tree U)) : Prop :=
  (forall p, In p (tbtrace m b) -> covered p) /\
  match tbruns m b with
  | Some y => (forall p, differ (get b p) (get y p) -> covered p) /\ brought_back files (map (map_tree_op inr) r) b y
  | None => brought_back files (map (map_tree_op inr) r) b b
  end.

Lemma runs_map (h : nat -> V) p x0 : forall x, runs files p (option_map (tmap (val h)) x0) (option_map (tmap (val h)) x) =
  option_map (option_map (tmap (val h))) (runs files (map (map_tree_op inr) p) x0 x).
Proof.
  induction p as [|o p IH]; simpl; intros x; auto.
  pose proof (tree_step_map (val h) files (map_tree_op inr o) x0 x) as E. rewrite map_tree_op_back in E. rewrite E.
  destruct (tree_step files (map_tree_op inr o) x0 x) as [y|]; simpl; auto.
Qed.

Theorem tree_edits_whatever_they_leave (d : V) x :
  blurred_trip (option_map (tmap inr) x) -> brought_back files r x x -> real_trip x.
Proof.
  intros [Ht Hb] Hi. set (h := results d m x). set (b := option_map (tmap inr) x) in *.
  assert (Hx : x = option_map (tmap (val h)) b).
  { unfold b. destruct x as [t|]; simpl; auto. now rewrite tmap_back. }
  destruct (@teruns_blurred d m h b x (fun _ _ => eq_refl) Hx) as [H1 H2].
  split; [intros p Hp; apply Ht, H1, Hp|].
  destruct (teruns m x) as [y|]; [|exact Hi].
  destruct (H2 y eq_refl) as (b' & Eb & ->). rewrite Eb in Hb. destruct Hb as [Hd (b'' & Hr & Hs)].
  split.
  - intros p Hp. apply Hd. apply (@differ_map _ _ (val h)). rewrite Hx in Hp at 1. rewrite !get_map in Hp. exact Hp.
  - exists (option_map (tmap (val h)) b''). split.
    + rewrite Hx at 1. rewrite runs_map, Hr. reflexivity.
    + intros p. rewrite Hx at 1. rewrite !get_map, !skel_map, Hs. reflexivity.
Qed.
End TreeEdits.
