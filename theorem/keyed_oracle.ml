(* One candidate a line, as numbers; one answer a line. Everything that decides is extracted from Coq.
   line: ops(mutation) n (witness-key slot)* ops(recovery) n slot*(contract) n (slot value)*(a state)
   ops:  n (target n (slot 0|1)* kind value)*    kind: 0 literal, 1 nothing, 2 witness, 3 slot
   answer: own decide brute grouped trip, each 0 or 1: does every operation look at its own slot only (if not, decide says
   nothing); does the linear search, do all shapes, does the search by groups say that it holds everywhere; on this state? *)
open Takeback_keyed
let () =
  try while true do
    let line = input_line stdin in
    let rest = ref (List.filter_map int_of_string_opt (String.split_on_char ' ' line)) in
    let next () = match !rest with x :: l -> rest := l; x | [] -> failwith "short line" in
    let many f = let n = next () in List.init n (fun _ -> f ()) in
    let pair () = let a = next () in let b = next () in (a, b) in
    let op () =
      let target = next () in
      let guards = many (fun () -> let k, b = pair () in (k, b = 1)) in
      let kind = next () in let v = next () in
      let source = match kind with 0 -> Lit v | 1 -> Nothing | 2 -> Wit v | _ -> Slot v in
      { target; guards; source } in
    let mutation = many op in
    let witness = many pair in
    let recovery = many op in
    let contract = many next in
    let state = many pair in
    let c = { mutation; witness; recovery; contract } in
    let s k = List.assoc_opt k state in
    let b x = if x then 1 else 0 in
    Printf.printf "%d %d %d %d %d\n"
      (b (n_own c)) (b (n_decide c)) (b (n_brute c)) (b (n_grouped c)) (b (n_trip c s))
  done with End_of_file -> ()
