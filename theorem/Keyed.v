(** * Chapter 3. Keyed surfaces

    Prompts, routing, tools, and chains by id: slots with a content or without. Everything is polymorphic in the type
    [V] of contents, and nothing compares contents: operations move them. Slots and witness keys are numbers. The
    chapter defines the interpreter and the round trip [RT], and proves the frame: slots that are not named are
    untouched and may be anything ([run_untouched], [RT_frame]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components.
Import ListNotations.
Set Implicit Arguments.

(** What an operation writes at its target. *)
Inductive src (V : Type) : Type :=
| Lit (v : V)         (* a literal of the program: set_prompt, set_routing, register_tool *)
| Nothing             (* removal: remove_prompt, delete_prompt without a witness *)
| Wit (w : nat)       (* restore from a capture: puts back, or removes if nothing was there *)
| Slot (j : nat).     (* content of another slot: the writing half of a move *)
Arguments Lit {V}. Arguments Nothing {V}. Arguments Wit {V}. Arguments Slot {V}.

(** A guard [(k, true)] wants slot [k] to be there, [(k, false)] wants it absent; otherwise the
    operation fails. *)
Record op (V : Type) := Op { target : nat; guards : list (nat * bool); source : src V }.
Record candidate (V : Type) := Candidate {
  mutation : list (op V);
  witness : list (nat * nat);       (* witness key, captured slot *)
  recovery : list (op V);
  contract : list nat }.

Section Model.
Context {V : Type}.

Definition kstate := nat -> option V.
Definition env := nat -> option (option V).

Definition put (s : kstate) (k : nat) (x : option V) : kstate := upd Nat.eq_dec s k x.
Definition there {T : Type} (x : option T) : bool := match x with Some _ => true | None => false end.
Definition holds (s : kstate) (g : nat * bool) : bool := Bool.eqb (there (s (fst g))) (snd g).

Definition fetch (e : env) (s : kstate) (x : src V) : option (option V) :=
  match x with
  | Lit v => Some (Some v)
  | Nothing => Some None
  | Wit w => e w
  | Slot j => Some (s j)
  end.

Definition step (e : env) (o : op V) (s : kstate) : option kstate :=
  if forallb (holds s) (guards o)
  then match fetch e s (source o) with
       | Some x => Some (put s (target o) x)
       | None => None
       end
  else None.

Fixpoint run (e : env) (p : list (op V)) (s : kstate) : option kstate :=
  match p with
  | [] => Some s
  | o :: p' => match step e o s with Some s' => run e p' s' | None => None end
  end.

(** Addresses of the operations that ran, up to a failure. *)
Fixpoint trace (e : env) (p : list (op V)) (s : kstate) : list nat :=
  match p with
  | [] => []
  | o :: p' => match step e o s with Some s' => target o :: trace e p' s' | None => [] end
  end.

Definition nowit : env := fun _ => None.

(** Captures see the state before; the last capture under a key wins. *)
Fixpoint capture (ws : list (nat * nat)) (s : kstate) : env :=
  match ws with
  | [] => nowit
  | (w, k) :: ws' => fun w' =>
      match capture ws' s w' with
      | Some x => Some x
      | None => if Nat.eq_dec w' w then Some (s k) else None
      end
  end.

Variable c : candidate V.

(** All of it or nothing. *)
Definition after (s : kstate) : kstate :=
  match run nowit (mutation c) s with Some s' => s' | None => s end.

(** The round trip: the trace and the diff are covered, recovery runs and brings everything back. *)
Definition RT (s : kstate) : Prop :=
  (forall k, In k (trace nowit (mutation c) s) -> In k (contract c)) /\
  (forall k, after s k <> s k -> In k (contract c)) /\
  exists s'', run (capture (witness c) s) (recovery c) (after s) = Some s'' /\ forall k, s'' k = s k.

(** ** Names *)
Definition source_names (x : src V) : list nat := match x with Slot j => [j] | _ => [] end.
Definition op_names (o : op V) : list nat := target o :: map fst (guards o) ++ source_names (source o).
Definition prog_names (p : list (op V)) : list nat := flat_map op_names p.
Definition names : list nat := prog_names (mutation c) ++ map snd (witness c) ++ prog_names (recovery c).

End Model.
Arguments kstate : clear implicits.
Arguments env : clear implicits.

(** ** The frame *)
Section Frame.
Context {V : Type}.

Lemma put_same (s : kstate V) k x : put s k x k = x.
Proof. apply upd_same. Qed.
Lemma put_other (s : kstate V) k j x : j <> k -> put s k x j = s j.
Proof. apply upd_other. Qed.

(** Slots that are no target are untouched. *)
Theorem run_untouched (e : env V) p : forall s s', run e p s = Some s' ->
  forall k, ~ In k (map (@target V) p) -> s' k = s k.
Proof.
  induction p as [|o p IH]; simpl; intros s s' H k N.
  - congruence.
  - unfold step in H. destruct (forallb _ _); [|discriminate].
    destruct (fetch e s (source o)); [|discriminate].
    rewrite (IH _ _ H k) by tauto. apply put_other. intros ->. tauto.
Qed.

Definition agree (N : list nat) (s t : kstate V) := forall k, In k N -> s k = t k.

Lemma agree_put N s t k x : agree N s t -> agree N (put s k x) (put t k x).
Proof.
  intros H j Hj. destruct (Nat.eq_dec j k) as [->|E].
  - now rewrite !put_same.
  - rewrite !put_other by auto. auto.
Qed.

Lemma step_agree N e f o s t : incl (op_names o) N -> (forall w, e w = f w) -> agree N s t ->
  match step e o s, step f o t with
  | Some s', Some t' => agree N s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros Hi He Ha. unfold step.
  assert (forallb (holds s) (guards o) = forallb (holds t) (guards o)) as ->.
  { apply eq_true_iff_eq. rewrite !forallb_forall.
    assert (forall g, In g (guards o) -> holds s g = holds t g) as Hg.
    { intros g Hin. unfold holds. rewrite (Ha (fst g)); auto. apply Hi. right.
      apply in_or_app. left. apply in_map, Hin. }
    split; intros H g Hin; specialize (H g Hin); specialize (Hg g Hin); congruence. }
  destruct (forallb (holds t) (guards o)); auto.
  assert (fetch e s (source o) = fetch f t (source o)) as ->.
  { destruct (source o) eqn:E; simpl; auto. rewrite (Ha j); auto. apply Hi. right.
    apply in_or_app. right. rewrite E. simpl. auto. }
  destruct (fetch f t (source o)); auto. apply agree_put, Ha.
Qed.

Lemma run_agree N e f p : incl (prog_names p) N -> (forall w, e w = f w) -> forall s t, agree N s t ->
  trace e p s = trace f p t /\
  match run e p s, run f p t with
  | Some s', Some t' => agree N s' t'
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros Hi He. induction p as [|o p IH]; simpl; intros s t Ha; [split; auto|].
  assert (incl (op_names o) N) as Ho by (intros x Hx; apply Hi; unfold prog_names; cbn [flat_map]; apply in_or_app; auto).
  assert (incl (prog_names p) N) as Hp by (intros x Hx; apply Hi; unfold prog_names; cbn [flat_map]; apply in_or_app; auto).
  pose proof (@step_agree N e f o s t Ho He Ha) as Hs.
  destruct (step e o s) as [s'|], (step f o t) as [t'|]; try tauto; auto.
  destruct (IH Hp _ _ Hs) as [-> Hr]. auto.
Qed.

Lemma capture_agree ws s t : agree (map snd ws) s t -> forall w, capture ws s w = capture ws t w.
Proof.
  induction ws as [|[w k] ws IH]; simpl; intros Ha w'; auto.
  rewrite IH by (intros j Hj; apply Ha; simpl; auto).
  rewrite (Ha k) by (simpl; auto). reflexivity.
Qed.

Lemma targets_names p k : In k (map (@target V) p) -> In k (prog_names p).
Proof.
  unfold prog_names. rewrite in_map_iff, in_flat_map. intros (o & <- & Ho). exists o. simpl. auto.
Qed.

Lemma after_untouched (c : candidate V) s k : ~ In k (map (@target V) (mutation c)) -> after c s k = s k.
Proof.
  intros N. unfold after. destruct (run nowit (mutation c) s) eqn:E; auto. eapply run_untouched; eauto.
Qed.

(** Slots that are not named may be anything. *)
Theorem RT_frame (c : candidate V) s t : agree (names c) s t -> RT c s -> RT c t.
Proof.
  intros Ha (Ht & Hd & s'' & Hr & Hb).
  assert (incl (prog_names (mutation c)) (names c)) as Im by (intros x Hx; unfold names; rewrite !in_app_iff; auto).
  assert (incl (prog_names (recovery c)) (names c)) as Ir by (intros x Hx; unfold names; rewrite !in_app_iff; auto).
  assert (agree (map snd (witness c)) s t) as Hw by (intros x Hx; apply Ha; unfold names; rewrite !in_app_iff; auto).
  pose proof (@run_agree (names c) nowit nowit (mutation c) Im (fun _ => eq_refl) s t Ha) as [Etr Hrun].
  assert (agree (names c) (after c s) (after c t)) as Haft.
  { unfold after. destruct (run nowit (mutation c) s), (run nowit (mutation c) t); tauto || auto. }
  split; [rewrite <- Etr; auto|]. split.
  - intros k Hk. destruct (in_dec Nat.eq_dec k (map (@target V) (mutation c))) as [Hin|N].
    + apply Hd. rewrite (Haft k), (Ha k); auto; apply Im, targets_names, Hin.
    + destruct Hk. apply after_untouched, N.
  - pose proof (@run_agree (names c) _ _ (recovery c) Ir (@capture_agree _ s t Hw) _ _ Haft) as [_ Hrr].
    rewrite Hr in Hrr.
    destruct (run (capture (witness c) t) (recovery c) (after c t)) as [t''|] eqn:Et; [|tauto].
    exists t''. split; auto. intros k.
    destruct (in_dec Nat.eq_dec k (names c)) as [Hin|N].
    + rewrite <- (Hrr k Hin), Hb. auto.
    + rewrite (run_untouched _ _ _ Et).
      * apply after_untouched. intros H. apply N, Im, targets_names, H.
      * intros H. apply N, Ir, targets_names, H.
Qed.

End Frame.
