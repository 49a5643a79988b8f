(** * Chapter 15. Edits: whatever they leave

    An edit looks into the content: any function that may fail. It is blurred to an operation that fails where nothing
    is there and otherwise leaves a content nobody knows, one for every edit of the program. If the blurred candidate
    holds, and the recovery changes nothing where nothing was changed, the real one holds ([edits_proved]). *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence.
Import ListNotations.
Set Implicit Arguments.

Section Edits.
Context {V : Type}.

Inductive eop : Type :=
| Plain (o : op V)
| Edit (k : nat) (f : V -> option V).
Definition etarget (o : eop) : nat := match o with Plain o => target o | Edit k _ => k end.

Definition estep (o : eop) (t : kstate V) : option (kstate V) :=
  match o with
  | Plain o => step nowit o t
  | Edit k f => match t k with
                | Some v => match f v with Some v' => Some (put t k (Some v')) | None => None end
                | None => None
                end
  end.
Fixpoint erun (p : list eop) (t : kstate V) : option (kstate V) :=
  match p with
  | [] => Some t
  | o :: p' => match estep o t with Some t' => erun p' t' | None => None end
  end.
Fixpoint etrace (p : list eop) (t : kstate V) : list nat :=
  match p with
  | [] => []
  | o :: p' => match estep o t with Some t' => etarget o :: etrace p' t' | None => [] end
  end.

Record ecandidate := ECandidate {
  emutation : list eop; ewitness : list (nat * nat); erecovery : list (op V); econtract : list nat }.

Definition eafter (c : ecandidate) (t : kstate V) : kstate V :=
  match erun (emutation c) t with Some t' => t' | None => t end.
Definition RTE (c : ecandidate) (t : kstate V) : Prop :=
  (forall k, In k (etrace (emutation c) t) -> In k (econtract c)) /\
  (forall k, eafter c t k <> t k -> In k (econtract c)) /\
  exists t'', run (capture (ewitness c) t) (erecovery c) (eafter c t) = Some t'' /\ forall k, t'' k = t k.

(** Blurred: contents nobody knows are [inl], one for every edit, by how many operations follow it. *)
Fixpoint blur (p : list eop) : list (op (nat + V)) :=
  match p with
  | [] => []
  | Plain o :: p' => map_op inr o :: blur p'
  | Edit k _ :: p' => Op k [(k, true)] (Lit (inl (length p'))) :: blur p'
  end.
Definition blurred (c : ecandidate) : candidate (nat + V) :=
  Candidate (blur (emutation c)) (ewitness c) (map (map_op inr) (erecovery c)) (econtract c).
Definition idle (c : ecandidate) : candidate V :=
  Candidate [] (ewitness c) (erecovery c) (econtract c).
Definition inj (t : kstate V) : kstate (nat + V) := fun k => option_map inr (t k).

Definition val (h : nat -> V) (x : nat + V) : V := match x with inl m => h m | inr v => v end.
(** Only the unknown contents of edits that ran already stand anywhere. *)
Definition low (n : nat) (b : kstate (nat + V)) : Prop := forall k m, b k = Some (inl m) -> n <= m.

Lemma map_op_val h (o : op V) : map_op (val h) (map_op inr o) = o.
Proof. destruct o as [t g x]. unfold map_op; simpl. f_equal. destruct x; reflexivity. Qed.

Lemma plain_step h n o b t : rel (val h) b t -> low n b ->
  match step nowit o t with
  | Some t1 => exists b1, step nowit (map_op inr o) b = Some b1 /\ rel (val h) b1 t1 /\ low n b1
  | None => True
  end.
Proof.
  intros Hr Hl.
  pose proof (@step_rel _ _ (val h) nowit nowit (map_op inr o) b t (@nowit_rel _ _ (val h)) Hr) as Hs.
  rewrite map_op_val in Hs.
  destruct (step nowit o t) as [t1|]; auto.
  destruct (step nowit (map_op inr o) b) as [b1|] eqn:Eb; [|tauto].
  exists b1. split; auto. split; auto.
  unfold step in Eb. destruct (forallb _ _); [|discriminate].
  destruct (fetch nowit b (source (map_op inr o))) as [x|] eqn:Ef; [|discriminate].
  injection Eb as <-. intros k m Hk. simpl in Hk.
  destruct (Nat.eq_dec k (target o)) as [->|N].
  - rewrite put_same in Hk. subst x. simpl in Ef. destruct (source o); simpl in Ef; try discriminate.
    injection Ef as Ef. eauto.
  - rewrite put_other in Hk by auto. eauto.
Qed.

Lemma edit_step h n k b t v v' : rel (val h) b t -> low (S n) b -> t k = Some v ->
  exists b1 h1, step nowit (Op k [(k, true)] (Lit (inl n))) b = Some b1 /\
    rel (val h1) b1 (put t k (Some v')) /\ low n b1 /\ forall m, S n <= m -> h1 m = h m.
Proof.
  intros Hr Hl Hv.
  assert (exists x, b k = Some x) as [x Hx].
  { specialize (Hr k). rewrite Hv in Hr. destruct (b k); [eauto|discriminate]. }
  exists (put b k (Some (inl n))), (fun m => if m =? n then v' else h m).
  split; [|split; [|split]].
  - unfold step. simpl. unfold holds. simpl. rewrite Hx. reflexivity.
  - intros j. destruct (Nat.eq_dec j k) as [->|N].
    + rewrite !put_same. simpl. rewrite Nat.eqb_refl. reflexivity.
    + rewrite !put_other by auto. rewrite Hr. destruct (b j) as [[m|u]|] eqn:Ej; simpl; auto.
      apply Hl in Ej. destruct (m =? n) eqn:E; auto. apply Nat.eqb_eq in E. lia.
  - intros j m Hj. destruct (Nat.eq_dec j k) as [->|N].
    + rewrite put_same in Hj. injection Hj as <-. auto.
    + rewrite put_other in Hj by auto. apply Hl in Hj. lia.
  - intros m Hm. destruct (m =? n) eqn:E; auto. apply Nat.eqb_eq in E. lia.
Qed.

Lemma low_less n n' b : n' <= n -> low n b -> low n' b.
Proof. intros Hle H k m Hk. apply H in Hk. lia. Qed.

(** A real run that goes through is the blurred one, with the results of the edits filled in. *)
Lemma erun_blur p : forall h b t t', rel (val h) b t -> low (length p) b -> erun p t = Some t' ->
  exists h' b', run nowit (blur p) b = Some b' /\ rel (val h') b' t'.
Proof.
  induction p as [|o p IH]; simpl; intros h b t t' Hr Hl H.
  - injection H as <-. eauto.
  - destruct o as [o|k f]; simpl in H.
    + pose proof (@plain_step h (S (length p)) o b t Hr Hl) as Hs.
      destruct (step nowit o t) as [t1|]; [|discriminate].
      destruct Hs as (b1 & Eb & Hr1 & Hl1). simpl. rewrite Eb.
      apply (IH h b1 t1 t'); auto. eapply low_less; [|exact Hl1]. lia.
    + destruct (t k) as [v|] eqn:Ek; [|discriminate]. destruct (f v) as [v'|]; [|discriminate].
      destruct (@edit_step h (length p) k b t v v' Hr Hl Ek) as (b1 & h1 & Eb & Hr1 & Hl1 & _).
      cbn [run blur]. rewrite Eb. eapply IH; eauto.
Qed.

(** The blurred run goes at least as far as the real one: its trace has everything. *)
Lemma etrace_blur p : forall h b t, rel (val h) b t -> low (length p) b ->
  incl (etrace p t) (trace nowit (blur p) b).
Proof.
  induction p as [|o p IH]; simpl; intros h b t Hr Hl.
  - intros x Hx. exact Hx.
  - destruct o as [o|k f]; simpl.
    + pose proof (@plain_step h (S (length p)) o b t Hr Hl) as Hs.
      destruct (step nowit o t) as [t1|]; [|intros x []].
      destruct Hs as (b1 & Eb & Hr1 & Hl1). rewrite Eb.
      intros x [<-|Hx]; [left; reflexivity|right].
      eapply IH; [exact Hr1| |exact Hx]. eapply low_less; [|exact Hl1]. lia.
    + destruct (t k) as [v|] eqn:Ek; [|intros x []]. destruct (f v) as [v'|]; [|intros x []].
      destruct (@edit_step h (length p) k b t v v' Hr Hl Ek) as (b1 & h1 & Eb & Hr1 & Hl1 & _).
      cbn [trace blur]. rewrite Eb.
      intros x [<-|Hx]; [left; reflexivity|right]. eapply IH; eauto.
Qed.

Theorem edits_whatever_they_leave (d : V) (c : ecandidate) (t : kstate V) :
  RT (blurred c) (inj t) -> RT (idle c) t -> RTE c t.
Proof.
  intros (Ht & Hd & s'' & Hrun & Hb) (_ & _ & i'' & Hirun & Hib).
  assert (Hr : forall h, rel (val h) (inj t) t).
  { intros h k. unfold inj. destruct (t k); reflexivity. }
  assert (Hl : low (length (emutation c)) (inj t)).
  { intros k m Hk. unfold inj in Hk. destruct (t k); discriminate. }
  split; [|split].
  - intros k Hk. apply Ht. simpl. eapply etrace_blur; [apply (Hr (fun _ => d))|exact Hl|exact Hk].
  - intros k Hk. unfold eafter in Hk. destruct (erun (emutation c) t) as [t'|] eqn:E; [|congruence].
    destruct (erun_blur _ (Hr (fun _ => d)) Hl E) as (h' & b' & Eb & Hr').
    apply Hd. unfold after. simpl. rewrite Eb. intros Heq. apply Hk. rewrite Hr', Heq. symmetry. apply (Hr h').
  - unfold eafter. destruct (erun (emutation c) t) as [t'|] eqn:E.
    + destruct (erun_blur _ (Hr (fun _ => d)) Hl E) as (h' & b' & Eb & Hr').
      unfold after in Hrun. simpl in Hrun. rewrite Eb in Hrun.
      pose proof (@run_rel _ _ (val h') _ _ (map (map_op inr) (erecovery c))
                    (@capture_rel _ _ (val h') (ewitness c) (inj t) t (Hr h')) b' t' Hr') as [_ Hrr].
      rewrite (@map_op_id V (val h') (erecovery c)) in Hrr by reflexivity.
      rewrite Hrun in Hrr.
      destruct (run (capture (ewitness c) t) (erecovery c) t') as [t''|]; [|tauto].
      exists t''. split; auto. intros k. rewrite Hrr, Hb. symmetry. apply (Hr h').
    + exists i''. split; auto.
Qed.

(** On all states: both are questions without edits, which [data_independence] and [decomposition] decide. *)
Corollary edits_proved (d : V) (c : ecandidate) :
  (forall b, RT (blurred c) b) -> (forall t, RT (idle c) t) -> forall t, RTE c t.
Proof. intros Ha Hi t. apply edits_whatever_they_leave; auto. Qed.

End Edits.
