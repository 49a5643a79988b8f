(** * Chapter 14. Sockets

    An address can be held by one key only, so operations compare contents. What is left of data independence is
    renaming by an *injective* function ([socket_renaming]); a generic state is not the worst case of its shape any more
    ([generic_is_not_worst_for_sockets]). But every way in which something can go wrong is about the initial address of
    one key, so one key at a time is enough, over every address ([sockets_one_key]). Port 0, which never clashes, is
    not in the model. *)
From Coq Require Import List Arith Lia Bool.
From Takeback Require Import Components Keyed DataIndependence KeyedDecision.
Import ListNotations.
Set Implicit Arguments.

Inductive sop (V : Type) : Type :=
| Allocate (k : nat) (v : V)
| Free (k : nat)                  (* free_socket; release_socket without a witness *)
| Release (k : nat) (w : nat).    (* release_socket with a witness: reinstates what was there *)
Arguments Allocate {V}. Arguments Free {V}. Arguments Release {V}.

Section Sockets.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable ks : list nat.           (* all keys that can hold an address *)

Definition held (s : kstate V) (k : nat) (v : V) : bool :=
  existsb (fun j => negb (j =? k) && match s j with Some u => if V_dec u v then true else false | None => false end) ks.
Definition claim (s : kstate V) (k : nat) (v : V) : option (kstate V) :=
  if held s k v then None else Some (put s k (Some v)).
Definition sstep (e : env V) (o : sop V) (s : kstate V) : option (kstate V) :=
  match o with
  | Allocate k v => claim s k v
  | Free k => Some (put s k None)
  | Release k w => match e w with
                   | None => None
                   | Some None => Some (put s k None)
                   | Some (Some v) => claim s k v
                   end
  end.
Definition starget (o : sop V) : nat := match o with Allocate k _ => k | Free k => k | Release k _ => k end.
Fixpoint srun (e : env V) (p : list (sop V)) (s : kstate V) : option (kstate V) :=
  match p with
  | [] => Some s
  | o :: p' => match sstep e o s with Some s' => srun e p' s' | None => None end
  end.
Fixpoint strace (e : env V) (p : list (sop V)) (s : kstate V) : list nat :=
  match p with
  | [] => []
  | o :: p' => match sstep e o s with Some s' => starget o :: strace e p' s' | None => [] end
  end.
End Sockets.

Record scandidate (V : Type) := SCandidate {
  smutation : list (sop V); switness : list (nat * nat); srecovery : list (sop V); scontract : list nat }.

Section Trip.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable ks : list nat.
Variable c : scandidate V.
Definition safter (s : kstate V) : kstate V :=
  match srun V_dec ks nowit (smutation c) s with Some s' => s' | None => s end.
Definition SRT (s : kstate V) : Prop :=
  (forall k, In k (strace V_dec ks nowit (smutation c) s) -> In k (scontract c)) /\
  (forall k, safter s k <> s k -> In k (scontract c)) /\
  exists s'', srun V_dec ks (capture (switness c) s) (srecovery c) (safter s) = Some s'' /\ forall k, s'' k = s k.
End Trip.

Section Renaming.
Variables (A B : Type) (A_dec : forall a b : A, {a = b} + {a <> b}) (B_dec : forall a b : B, {a = b} + {a <> b}).
Variable h : A -> B.
Hypothesis h_inj : forall a b, h a = h b -> a = b.
Variable ks : list nat.

Definition map_sop (o : sop A) : sop B :=
  match o with Allocate k v => Allocate k (h v) | Free k => Free k | Release k w => Release k w end.
Definition map_scandidate (c : scandidate A) : scandidate B :=
  SCandidate (map map_sop (smutation c)) (switness c) (map map_sop (srecovery c)) (scontract c).

Lemma held_map s t k v : rel h s t -> held B_dec ks t k (h v) = held A_dec ks s k v.
Proof.
  intros H. unfold held. induction ks as [|j l IH]; simpl; auto. rewrite IH. f_equal. f_equal.
  rewrite H. destruct (s j) as [u|]; simpl; auto.
  destruct (B_dec (h u) (h v)) as [E|N], (A_dec u v) as [E'|N']; auto; [destruct N'; auto|congruence].
Qed.

Lemma claim_map s t k v : rel h s t ->
  match claim A_dec ks s k v, claim B_dec ks t k (h v) with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros H. unfold claim. rewrite (held_map _ _ H). destruct (held A_dec ks s k v); auto.
  apply (rel_put k (Some v) H).
Qed.

Lemma sstep_map e f o s t : erel h e f -> rel h s t ->
  match sstep A_dec ks e o s, sstep B_dec ks f (map_sop o) t with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros He H. destruct o as [k v|k|k w]; simpl.
  - apply claim_map, H.
  - apply (rel_put k None H).
  - rewrite He. destruct (e w) as [[v|]|]; simpl; auto.
    + apply claim_map, H.
    + apply (rel_put k None H).
Qed.

Lemma srun_map e f p : erel h e f -> forall s t, rel h s t ->
  strace B_dec ks f (map map_sop p) t = strace A_dec ks e p s /\
  match srun A_dec ks e p s, srun B_dec ks f (map map_sop p) t with
  | Some s', Some t' => rel h s' t' | None, None => True | _, _ => False end.
Proof.
  intros He. induction p as [|o p IH]; simpl; intros s t H; auto.
  pose proof (@sstep_map e f o s t He H) as Hs.
  assert (Et : starget (map_sop o) = starget o) by (destruct o; reflexivity).
  destruct (sstep A_dec ks e o s), (sstep B_dec ks f (map_sop o) t); try tauto; auto.
  destruct (IH _ _ Hs) as [-> Hr]. rewrite Et. auto.
Qed.

(** Addresses may be renamed, one to one: which literal, if any, a key holds is all that counts. *)
Theorem socket_renaming c s t : rel h s t ->
  (SRT A_dec ks c s <-> SRT B_dec ks (map_scandidate c) t).
Proof.
  intros H.
  assert (Hx : forall x y : option A, option_map h x = option_map h y <-> x = y).
  { intros [x|] [y|]; simpl; split; try congruence. intros E. injection E as E. f_equal. auto. }
  destruct (@srun_map nowit nowit (smutation c) (@nowit_rel _ _ h) s t H) as [Et Hr].
  assert (Ha : rel h (safter A_dec ks c s) (safter B_dec ks (map_scandidate c) t)).
  { unfold safter. simpl. destruct (srun A_dec ks nowit (smutation c) s), (srun B_dec ks nowit (map map_sop (smutation c)) t);
      tauto || auto. }
  destruct (@srun_map _ _ (srecovery c) (@capture_rel _ _ h (switness c) s t H) _ _ Ha) as [_ Hrr].
  unfold SRT. simpl. rewrite Et.
  assert (Hd : forall k, safter B_dec ks (map_scandidate c) t k <> t k <-> safter A_dec ks c s k <> s k).
  { intros k. rewrite Ha, H, Hx. reflexivity. }
  assert (Hb : (exists s'', srun A_dec ks (capture (switness c) s) (srecovery c) (safter A_dec ks c s) = Some s'' /\ (forall k, s'' k = s k)) <->
               (exists t'', srun B_dec ks (capture (switness c) t) (map map_sop (srecovery c)) (safter B_dec ks (map_scandidate c) t) = Some t'' /\ (forall k, t'' k = t k))).
  { destruct (srun A_dec ks (capture (switness c) s) (srecovery c) (safter A_dec ks c s)) as [s''|],
             (srun B_dec ks (capture (switness c) t) (map map_sop (srecovery c)) (safter B_dec ks (map_scandidate c) t)) as [t''|]; try tauto.
    - split; intros (u & E & Hu); injection E as <-; eexists; (split; [reflexivity|]); intros k.
      + rewrite Hrr, H, Hu. reflexivity.
      + apply Hx. rewrite <- Hrr, <- H. apply Hu.
    - split; intros (u & E & _); discriminate. }
  rewrite Hb. split; intros (H1 & H2 & H3); split; auto; split; auto; intros k Hk; apply H2, Hd, Hk.
Qed.
End Renaming.

(** The story: metrics (0) moves to 9210, debug (1) opens 9211; recovery releases metrics first.
    It holds on every shape with addresses of their own, and fails where metrics stood on 9211. *)
Definition story : scandidate nat :=
  SCandidate [Allocate 0 10; Allocate 1 11] [(0, 0); (1, 1)] [Release 0 0; Release 1 1] [0; 1].
Definition at_most (m d : option nat) : kstate nat := fun k => if Nat.eq_dec k 0 then m else if Nat.eq_dec k 1 then d else None.

Theorem generic_is_not_worst_for_sockets :
  (forall m d, (m = None \/ m = Some 100) -> (d = None \/ d = Some 101) -> SRT Nat.eq_dec [0; 1] story (at_most m d)) /\
  ~ SRT Nat.eq_dec [0; 1] story (at_most (Some 11) None).
Proof.
  split.
  - intros m d [->| ->] [->| ->]; (split; [simpl; tauto|split]).
    all: try (intros k Hk; destruct k as [|[|k]]; [simpl; auto|simpl; auto|destruct Hk; reflexivity]).
    all: eexists; split; [reflexivity|]; intros k; destruct k as [|[|k]]; reflexivity.
  - intros (_ & _ & s'' & H & _). vm_compute in H. discriminate.
Qed.

(** ** One key at a time

    With captures of their own keys, what a key holds at any moment is what it held before, a literal, or nothing;
    which of them does not depend on the state. So every way in which something can go wrong is about the initial
    address of one key. *)
Section OneKey.
Context {V : Type}.
Variable V_dec : forall a b : V, {a = b} + {a <> b}.
Variable ks : list nat.

(** What a key holds, as far as it is known without the state: [None] is what it held before. *)
Definition known := nat -> option (option V).
Definition inst (f : known) (s : kstate V) : kstate V := fun k => match f k with Some x => x | None => s k end.
Definition learn (f : known) (k : nat) (x : option (option V)) : known := fun j => if Nat.eq_dec j k then x else f j.
Definition unknown : known := fun _ => None.

(** Restores use the capture of their own key; a recovery allocates nothing. *)
Definition own_key (ws : list (nat * nat)) (o : sop V) : Prop :=
  match o with Release k w => captured ws w = Some k | _ => True end.
Definition forward (o : sop V) : Prop := match o with Release _ _ => False | _ => True end.
Definition backward (ws : list (nat * nat)) (o : sop V) : Prop :=
  match o with Allocate _ _ => False | Free _ => True | Release k w => captured ws w = Some k end.

Definition next (f : known) (o : sop V) : known :=
  match o with Allocate k v => learn f k (Some (Some v)) | Free k => learn f k (Some None) | Release k _ => learn f k None end.

(** What an operation asks of the initial address of key [j], and what it asks of the literals alone. *)
Definition asks (f : known) (o : sop V) (j : nat) (x : option V) : Prop :=
  match o with
  | Allocate k v => In j ks -> j <> k -> f j = None -> x <> Some v
  | Free _ => True
  | Release k _ => j = k -> forall i a, In i ks -> i <> k -> f i = Some (Some a) -> x <> Some a
  end.
Definition clashes (f : known) (o : sop V) : Prop :=
  match o with Allocate k v => exists j, In j ks /\ j <> k /\ f j = Some (Some v) | _ => False end.

(** No two keys hold one address. *)
Definition valid_sockets (s : kstate V) : Prop := forall i j a, In i ks -> In j ks -> s i = Some a -> s j = Some a -> i = j.

Lemma held_spec (s : kstate V) k v : held V_dec ks s k v = true <-> exists j, In j ks /\ j <> k /\ s j = Some v.
Proof.
  unfold held. rewrite existsb_exists. split.
  - intros (j & Hin & H). apply andb_true_iff in H as [H1 H2]. apply negb_true_iff, Nat.eqb_neq in H1.
    destruct (s j) as [u|] eqn:E; [|discriminate]. destruct (V_dec u v); [|discriminate]. subst. eauto.
  - intros (j & Hin & N & E). exists j. split; auto. apply andb_true_iff. split; [now apply negb_true_iff, Nat.eqb_neq|].
    rewrite E. destruct (V_dec v v); congruence.
Qed.

Lemma put_inst f s t k x y : (forall j, t j = inst f s j) -> y = inst (learn f k x) s k -> forall j, put t k y j = inst (learn f k x) s j.
Proof.
  intros H Hy j. destruct (Nat.eq_dec j k) as [->|N].
  - now rewrite put_same.
  - rewrite put_other by auto. rewrite H. unfold inst, learn. destruct (Nat.eq_dec j k); [congruence|reflexivity].
Qed.

(** One step: it goes through just if the literals do not clash and every key's address is as asked; and what is
    known afterwards does not depend on the state. *)
Lemma sstep_known ws f o s t : valid_sockets s -> own_key ws o -> In (starget o) ks -> (forall j, t j = inst f s j) ->
  match sstep V_dec ks (capture ws s) o t with
  | Some t' => ~ clashes f o /\ (forall j, asks f o j (s j)) /\ forall j, t' j = inst (next f o) s j
  | None => clashes f o \/ exists j, ~ asks f o j (s j)
  end.
Proof.
  intros Hv Ho Hk Ht. destruct o as [k v|k|k w]; simpl in *.
  - unfold claim. destruct (held V_dec ks t k v) eqn:E.
    + apply held_spec in E as (j & Hin & N & E). rewrite Ht in E. unfold inst in E.
      destruct (f j) as [y|] eqn:Ef; [left; exists j; subst; auto|]. right. exists j. intros H. apply (H Hin N Ef E).
    + assert (Hn : ~ exists j, In j ks /\ j <> k /\ t j = Some v) by (rewrite <- held_spec; congruence).
      split; [|split].
      * intros (j & Hin & N & Ef). apply Hn. exists j. rewrite Ht. unfold inst. rewrite Ef. auto.
      * intros j Hin N Ef Es. apply Hn. exists j. rewrite Ht. unfold inst. rewrite Ef. auto.
      * apply put_inst; auto. unfold inst, learn. destruct (Nat.eq_dec k k); congruence.
  - split; [tauto|]. split; [tauto|]. apply put_inst; auto. unfold inst, learn. destruct (Nat.eq_dec k k); congruence.
  - rewrite capture_captured, Ho. simpl. destruct (s k) as [a|] eqn:Es.
    + unfold claim. destruct (held V_dec ks t k a) eqn:E.
      * apply held_spec in E as (j & Hin & N & E). rewrite Ht in E. unfold inst in E.
        destruct (f j) as [y|] eqn:Ef.
        -- subst y. right. exists k. intros H. apply (H eq_refl j a Hin N Ef Es).
        -- destruct N. apply (Hv j k a); auto.
      * assert (Hn : ~ exists j, In j ks /\ j <> k /\ t j = Some a) by (rewrite <- held_spec; congruence).
        split; [tauto|]. split.
        -- intros j -> i b Hin N Ef E2. apply Hn. exists i. rewrite Ht. unfold inst. rewrite Ef. split; auto. split; auto. congruence.
        -- apply put_inst; auto. unfold inst, learn. destruct (Nat.eq_dec k k); congruence.
    + split; [tauto|]. split.
      * intros j -> i b _ _ _. congruence.
      * apply put_inst; auto. unfold inst, learn. destruct (Nat.eq_dec k k); congruence.
Qed.

(** ** Whole programs *)
Fixpoint knows (p : list (sop V)) (f : known) : known := match p with [] => f | o :: p' => knows p' (next f o) end.
Fixpoint all_ask (p : list (sop V)) (f : known) (j : nat) (x : option V) : Prop :=
  match p with [] => True | o :: p' => asks f o j x /\ all_ask p' (next f o) j x end.
Fixpoint all_clash (p : list (sop V)) (f : known) : Prop :=
  match p with [] => False | o :: p' => clashes f o \/ all_clash p' (next f o) end.

Lemma srun_known ws p : Forall (fun o => own_key ws o /\ In (starget o) ks) p -> forall s, valid_sockets s ->
  forall f t, (forall j, t j = inst f s j) ->
  match srun V_dec ks (capture ws s) p t with
  | Some t' => ~ all_clash p f /\ (forall j, all_ask p f j (s j)) /\ forall j, t' j = inst (knows p f) s j
  | None => all_clash p f \/ exists j, ~ all_ask p f j (s j)
  end.
Proof.
  induction 1 as [|o p [Ho Hk] _ IH]; simpl; intros s Hv f t Ht; [auto|].
  pose proof (@sstep_known ws f o s t Hv Ho Hk Ht) as Hs.
  destruct (sstep V_dec ks (capture ws s) o t) as [t1|].
  - destruct Hs as (H1 & H2 & H3). specialize (IH s Hv _ _ H3). destruct (srun V_dec ks (capture ws s) p t1).
    + destruct IH as (H4 & H5 & H6). split; [tauto|]. split; auto.
    + destruct IH as [A|[j A]]; [auto|]. right. exists j. tauto.
  - destruct Hs as [A|[j A]]; [auto|]. right. exists j. tauto.
Qed.

(** ** The classes *)
Variable c : scandidate V.
Hypothesis mutation_ok : Forall (fun o => forward o /\ In (starget o) ks) (smutation c).
Hypothesis recovery_ok : Forall (fun o => backward (switness c) o /\ In (starget o) ks) (srecovery c).

(** The addresses that the candidate names; a content is unnamed if it is none of them. *)
Definition named_addresses : list V := flat_map (fun o => match o with Allocate _ v => [v] | _ => [] end) (smutation c).
Definition unnamed (x : option V) : Prop := forall v, x = Some v -> ~ In v named_addresses.

Lemma unnamed_asks j x : unnamed x -> forall p, incl p (smutation c) -> Forall forward p -> forall f, all_ask p f j x.
Proof.
  intros Hx p Hin Hp. induction Hp as [|o p Ho _ IH]; simpl; intros f; [exact I|]. split.
  - destruct o as [k v|k|k w]; simpl; [|exact I|destruct Ho]. intros _ _ _ E. apply (Hx v E).
    unfold named_addresses. apply in_flat_map. exists (Allocate k v). split; [apply Hin; simpl; auto|simpl; auto].
  - apply IH. intros o' Ho'. apply Hin. simpl. auto.
Qed.

(** A recovery that allocates nothing makes no key hold a literal. *)
Definition wordless (f : known) : Prop := forall k a, f k <> Some (Some a).
Lemma knows_wordless p : Forall (backward (switness c)) p -> forall f, wordless f -> wordless (knows p f) /\ ~ all_clash p f /\ forall j x, all_ask p f j x.
Proof.
  induction 1 as [|o p Ho _ IH]; simpl; intros f Hf; [auto|].
  assert (Hn : wordless (next f o)).
  { intros k a. destruct o as [k' v|k'|k' w]; simpl; [destruct Ho| |]; unfold learn; destruct (Nat.eq_dec k k'); try discriminate; apply Hf. }
  destruct (IH _ Hn) as (H1 & H2 & H3). split; [exact H1|]. split.
  - intros [A|A]; [|auto]. destruct o; simpl in A; auto.
  - intros j x. split; [|apply H3]. destruct o as [k v|k|k w]; simpl; [destruct Ho|exact I|]. intros _ i a _ _ E. destruct (Hf i a E).
Qed.

Lemma mutation_own : Forall (fun o => own_key [] o /\ In (starget o) ks) (smutation c).
Proof. eapply Forall_impl; [|exact mutation_ok]. intros [k v|k|k w] [H1 H2]; simpl in *; tauto. Qed.
Lemma recovery_own : Forall (fun o => own_key (switness c) o /\ In (starget o) ks) (srecovery c).
Proof. eapply Forall_impl; [|exact recovery_ok]. intros [k v|k|k w] [H1 H2]; simpl in *; tauto. Qed.
Lemma mutation_forward : Forall forward (smutation c).
Proof. eapply Forall_impl; [|exact mutation_ok]. intros o [H _]. exact H. Qed.
Lemma recovery_backward : Forall (backward (switness c)) (srecovery c).
Proof. eapply Forall_impl; [|exact recovery_ok]. intros o [H _]. exact H. Qed.

(** No run goes further than one on which no key holds a named address. *)
Lemma strace_unnamed s z : valid_sockets s -> valid_sockets z -> (forall j, unnamed (z j)) ->
  forall p, incl p (smutation c) -> Forall (fun o => forward o /\ In (starget o) ks) p -> forall f t u, (forall j, t j = inst f s j) -> (forall j, u j = inst f z j) ->
  incl (strace V_dec ks nowit p t) (strace V_dec ks nowit p u).
Proof.
  intros Hs Hz Hu p. induction p as [|o p IH]; simpl; intros Hin Hp f t u Ht Hut; [apply incl_refl|].
  inversion Hp as [|? ? [Ho Hk] Hp']; subst.
  assert (Hown : own_key [] o) by (destruct o; simpl in *; tauto).
  pose proof (@sstep_known [] f o s t Hs Hown Hk Ht) as H1. pose proof (@sstep_known [] f o z u Hz Hown Hk Hut) as H2. simpl in H1, H2.
  destruct (sstep V_dec ks nowit o t) as [t'|]; [|intros a []]. destruct H1 as (Hc & _ & Ht').
  destruct (sstep V_dec ks nowit o u) as [u'|].
  - destruct H2 as (_ & _ & Hu'). intros a [<-|Ha]; [left; reflexivity|right].
    refine (IH _ Hp' _ _ _ Ht' Hu' a Ha). intros o' Ho'. apply Hin. simpl. auto.
  - exfalso. destruct H2 as [A|[j A]]; [auto|]. apply A.
    assert (G : all_ask [o] f j (z j)). { apply unnamed_asks; auto. intros o' [<-|[]]. apply Hin. simpl. auto. }
    apply G.
Qed.

Variable shape : nat -> bool.         (* which keys are there in the base *)
Definition as_base (s : kstate V) (j : nat) : Prop := unnamed (s j) /\ there (s j) = shape j.

(** Every key varied alone, over every address; and beside one other key, whose address makes the mutation fail,
    there or not there. *)
Theorem sockets_one_key : enough_values (V := V) ->
  (forall k z, valid_sockets z -> (forall j, j <> k -> as_base z j) -> SRT V_dec ks c z) ->
  (forall i k z, i <> k -> valid_sockets z -> unnamed (z k) -> (forall j, j <> i -> j <> k -> as_base z j) -> SRT V_dec ks c z) ->
  forall s, valid_sockets s -> SRT V_dec ks c s.
Proof.
  intros Hvals Halone Hbeside s Hs.
  (* the base with key [i] as in [s], and with key [k] there or not *)
  assert (Hmake : forall i k (there_k : bool), exists z, valid_sockets z /\ z i = s i /\
     (forall j, j <> i -> unnamed (z j) /\ there (z j) = (if j =? k then there_k else shape j))).
  { intros i k b. destruct (Hvals (named_addresses ++ match s i with Some a => [a] | None => [] end)) as (F & Finj & Ff).
    exists (fun j => if Nat.eq_dec j i then s i else if (if j =? k then b else shape j) then Some (F j) else None).
    split; [|split].
    - intros j1 j2 a _ _. destruct (Nat.eq_dec j1 i) as [->|N1], (Nat.eq_dec j2 i) as [->|N2]; auto.
      + destruct (if j2 =? k then b else shape j2); [|discriminate]. intros E1 E2. injection E2 as <-. exfalso.
        apply (Ff j2). rewrite E1. apply in_or_app. simpl. auto.
      + destruct (if j1 =? k then b else shape j1); [|discriminate]. intros E1 E2. injection E1 as <-. exfalso.
        apply (Ff j1). rewrite E2. apply in_or_app. simpl. auto.
      + destruct (if j1 =? k then b else shape j1); [|discriminate]. destruct (if j2 =? k then b else shape j2); [|discriminate].
        intros E1 E2. apply Finj. congruence.
    - destruct (Nat.eq_dec i i); congruence.
    - intros j N. destruct (Nat.eq_dec j i); [congruence|]. split.
      + intros v E Hin. destruct (if j =? k then b else shape j); [|discriminate]. injection E as <-. apply (Ff j), in_or_app. auto.
      + destruct (if j =? k then b else shape j); reflexivity. }
  assert (Hkey : forall k, exists z, valid_sockets z /\ z k = s k /\ (forall j, j <> k -> as_base z j)).
  { intros k. destruct (Hmake k k true) as (z & H1 & H2 & H3). exists z. split; [auto|split; auto]. intros j N.
    destruct (H3 j N) as [H4 H5]. apply Nat.eqb_neq in N. rewrite N in H5. split; auto. }
  assert (Hst : forall z (j : nat), z j = inst unknown z j) by reflexivity.
  (* coverage *)
  assert (Hcov : forall k, In k (strace V_dec ks nowit (smutation c) s) -> In k (scontract c)).
  { intros k Hk. destruct (Hvals named_addresses) as (F & Finj & Ff).
    set (z := fun j => if shape j then Some (F j) else None).
    assert (Hz : valid_sockets z).
    { intros i j a _ _. unfold z. destruct (shape i), (shape j); try discriminate. intros E1 E2. apply Finj. congruence. }
    assert (Hzu : forall j, unnamed (z j)).
    { intros j v E Hin. unfold z in E. destruct (shape j); [|discriminate]. injection E as <-. apply (Ff j Hin). }
    destruct (Halone 0 z Hz) as [Hc _].
    { intros j _. split; [apply Hzu|]. unfold z. destruct (shape j); reflexivity. }
    apply Hc. exact (@strace_unnamed s z Hs Hz Hzu (smutation c) (incl_refl _) mutation_ok unknown s z (Hst s) (Hst z) _ Hk). }
  pose proof (@srun_known [] _ mutation_own s Hs unknown s (Hst s)) as Hm. simpl in Hm.
  split; [exact Hcov|].
  destruct (srun V_dec ks nowit (smutation c) s) as [s'|] eqn:Es.
  - (* it goes through *)
    destruct Hm as (Hclash & Hask & Hknow). set (f := knows (smutation c) unknown) in *.
    assert (Hafter : forall k, safter V_dec ks c s k = s' k) by (intros k; unfold safter; now rewrite Es).
    assert (Hz : forall k, exists z z', valid_sockets z /\ z k = s k /\ SRT V_dec ks c z /\
               srun V_dec ks nowit (smutation c) z = Some z' /\ forall j, z' j = inst f z j).
    { intros k. destruct (Hkey k) as (z & H1 & H2 & H3).
      pose proof (@srun_known [] _ mutation_own z H1 unknown z (Hst z)) as Hmz. simpl in Hmz.
      destruct (srun V_dec ks nowit (smutation c) z) as [z'|] eqn:Ez.
      - exists z, z'. destruct Hmz as (_ & _ & Hzk). split; [auto|split; [auto|split; [|split; auto]]]. apply Halone with k; auto.
      - exfalso. destruct Hmz as [A|[j A]]; [auto|]. apply A. destruct (Nat.eq_dec j k) as [->|N].
        + rewrite H2. apply Hask.
        + apply unnamed_asks; [apply H3, N|apply incl_refl|apply mutation_forward]. }
    split.
    + intros k Hk. destruct (Hz k) as (z & z' & _ & Ezk & (_ & Hd & _) & Ez & Hzk). apply Hd.
      unfold safter. rewrite Ez, Hzk. rewrite Hafter, Hknow in Hk. unfold inst in *. rewrite Ezk. exact Hk.
    + assert (Hrec : forall k, (~ all_clash (srecovery c) f) /\ all_ask (srecovery c) f k (s k) /\ inst (knows (srecovery c) f) s k = s k).
      { intros k. destruct (Hz k) as (z & z' & Hzv & Ezk & (_ & _ & z'' & Hr & Hb) & Ez & Hzk).
        unfold safter in Hr. rewrite Ez in Hr.
        pose proof (@srun_known (switness c) _ recovery_own z Hzv f z' Hzk) as Hrz. rewrite Hr in Hrz. destruct Hrz as (A1 & A2 & A3).
        split; [exact A1|]. split; [rewrite <- Ezk; apply A2|]. specialize (Hb k). rewrite A3 in Hb. unfold inst in *. rewrite <- Ezk. exact Hb. }
      assert (Hst' : forall j, safter V_dec ks c s j = inst f s j) by (intros j; rewrite Hafter; apply Hknow).
      pose proof (@srun_known (switness c) _ recovery_own s Hs f (safter V_dec ks c s) Hst') as Hrs.
      destruct (srun V_dec ks (capture (switness c) s) (srecovery c) (safter V_dec ks c s)) as [s''|].
      * destruct Hrs as (_ & _ & A3). exists s''. split; auto. intros k. rewrite A3. apply Hrec.
      * exfalso. destruct Hrs as [A|[j A]]; [apply (proj1 (Hrec 0) A)|]. apply A, Hrec.
  - (* it fails: nothing was changed *)
    assert (Hafter : forall k, safter V_dec ks c s k = s k) by (intros k; unfold safter; now rewrite Es).
    split; [intros k Hk; destruct Hk; apply Hafter|].
    destruct (@knows_wordless _ recovery_backward unknown) as (W1 & W2 & W3); [intros k a; discriminate|].
    assert (Hst' : forall j, safter V_dec ks c s j = inst unknown s j) by (intros j; rewrite Hafter; reflexivity).
    pose proof (@srun_known (switness c) _ recovery_own s Hs unknown (safter V_dec ks c s) Hst') as Hrs.
    destruct (srun V_dec ks (capture (switness c) s) (srecovery c) (safter V_dec ks c s)) as [s''|].
    2:{ exfalso. destruct Hrs as [A|[j A]]; [auto|]. apply A, W3. }
    destruct Hrs as (_ & _ & A3). exists s''. split; auto. intros k. rewrite A3.
    (* some state that fails as well, and has the key there just if [s] has *)
    assert (Hidle : exists z, SRT V_dec ks c z /\ valid_sockets z /\ srun V_dec ks nowit (smutation c) z = None /\ there (z k) = there (s k)).
    { assert (Hfail : forall z i, valid_sockets z -> (all_clash (smutation c) unknown \/ ~ all_ask (smutation c) unknown i (z i)) ->
                srun V_dec ks nowit (smutation c) z = None).
      { intros z i Hz A. pose proof (@srun_known [] _ mutation_own z Hz unknown z (Hst z)) as Hmz. simpl in Hmz.
        destruct (srun V_dec ks nowit (smutation c) z); auto. destruct Hmz as (B1 & B2 & _). exfalso. destruct A as [A|A]; [auto|apply A, B2]. }
      destruct Hm as [A|[i A]].
      - destruct (Hkey k) as (z & H1 & H2 & H3). exists z. split; [apply Halone with k; auto|]. split; [auto|]. split; [apply (Hfail z k); auto|].
        now rewrite H2.
      - destruct (Nat.eq_dec i k) as [->|N].
        + destruct (Hkey k) as (z & H1 & H2 & H3). exists z. split; [apply Halone with k; auto|]. split; [auto|].
          split; [apply (Hfail z k); [auto|right; now rewrite H2]|]. now rewrite H2.
        + destruct (Hmake i k (there (s k))) as (z & H1 & H2 & H3). exists z.
          split; [apply Hbeside with i k; auto|].
          * apply H3. auto.
          * intros j N1 N2. destruct (H3 j N1) as [H4 H5]. apply Nat.eqb_neq in N2. rewrite N2 in H5. split; auto.
          * split; [auto|]. split; [apply (Hfail z i); [auto|right; now rewrite H2]|].
            destruct (H3 k (not_eq_sym N)) as [_ H5]. rewrite Nat.eqb_refl in H5. exact H5. }
    destruct Hidle as (z & (_ & _ & z'' & Hr & Hb) & Hzv & Ez & Hthere).
    unfold safter in Hr. rewrite Ez in Hr.
    pose proof (@srun_known (switness c) _ recovery_own z Hzv unknown z (Hst z)) as Hrz. rewrite Hr in Hrz. destruct Hrz as (_ & _ & B3).
    specialize (Hb k). rewrite B3 in Hb. unfold inst in *. pose proof (W1 k) as Wk.
    destruct (knows (srecovery c) unknown k) as [[a|]|]; auto; [destruct (Wk a eq_refl)|].
    rewrite <- Hb in Hthere. destruct (s k); [discriminate|reflexivity].
Qed.
End OneKey.
