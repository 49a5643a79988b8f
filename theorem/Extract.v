(** The interpreter and the two decision procedures as an OCaml program, for [V := nat]. *)
From Coq Require Import List Arith Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Takeback Require Import Components FiniteSearch Keyed DataIndependence KeyedDecision KeyedGroups.
Extraction Language OCaml.

Definition n_decide (c : candidate nat) : bool := decide Nat.eq_dec c.
Definition n_brute (c : candidate nat) : bool := brute Nat.eq_dec c.
Definition n_own (c : candidate nat) : bool := own c.
Definition n_grouped (c : candidate nat) : bool := grouped Nat.eq_dec c.
Definition n_trip (c : candidate nat) (s : kstate nat) : bool := rtb Nat.eq_dec c s.

Extraction "takeback_keyed.ml" n_decide n_brute n_grouped n_own n_trip names.

From Takeback Require Import FiniteSearch Trees TreeCheck.
Definition n_tree_trip (files : bool) (c : tree_candidate (V := nat)) (s : nat -> option (tree nat)) : bool :=
  trtb Nat.eq_dec files c s.
Definition n_tree_search (files : bool) (c : tree_candidate (V := nat))
    (first : nat -> option (tree nat)) (others : nat -> list (option (tree nat))) : bool :=
  tree_search Nat.eq_dec files c first others.
Definition n_tree_goes (files : bool) (c : tree_candidate (V := nat)) (s : nat -> option (tree nat)) : bool :=
  match exec Nat.eq_dec (map (tree_forward files) (tmutation c)) s with Some _ => true | None => false end.
Extraction "takeback_tree.ml" n_tree_trip n_tree_search n_tree_goes.
