;; UTF-16 in the core's memory as a JS string, by the JS String Builtins of WebAssembly: they make a string
;; of an array that the engine's garbage collector has.
(module
  (type $units (array (mut i16)))
  (import "wasm:js-string" "fromCharCodeArray"
    (func $fromCharCodeArray (param (ref null $units) i32 i32) (result (ref extern))))
  (import "core" "memory" (memory 0))

  ;; The array that the last string was made of. It serves the next one if it is large enough.
  (global $units (mut (ref null $units)) (ref.null $units))

  ;; An array with room for so many units.
  (func $room (param $length i32) (result (ref $units))
    (local $units (ref null $units))
    (local.set $units (global.get $units))
    (block $new
      (br_if $new (ref.is_null (local.get $units)))
      (br_if $new (i32.lt_u (array.len (local.get $units)) (local.get $length)))
      (return (ref.as_non_null (local.get $units))))
    (local.set $units (array.new_default $units (local.get $length)))
    ;; What is kept is 2 MB at most.
    (if (i32.le_u (local.get $length) (i32.const 0x100000))
      (then (global.set $units (local.get $units))))
    (ref.as_non_null (local.get $units)))

  ;; The string of so many units from an address on.
  (func (export "string") (param $from i32) (param $length i32) (result (ref extern))
    (local $units (ref $units))
    (local $at i32)
    (local $four i64)
    (local.set $units (call $room (local.get $length)))
    (block $tail
      (loop $fours
        (br_if $tail (i32.gt_u (i32.add (local.get $at) (i32.const 4)) (local.get $length)))
        (local.set $four
          (i64.load align=2
            (i32.add (local.get $from) (i32.shl (local.get $at) (i32.const 1)))))
        ;; Of what is stored only the lower 16 bits count.
        (array.set $units (local.get $units) (local.get $at) (i32.wrap_i64 (local.get $four)))
        (array.set $units (local.get $units) (i32.add (local.get $at) (i32.const 1))
          (i32.wrap_i64 (i64.shr_u (local.get $four) (i64.const 16))))
        (array.set $units (local.get $units) (i32.add (local.get $at) (i32.const 2))
          (i32.wrap_i64 (i64.shr_u (local.get $four) (i64.const 32))))
        (array.set $units (local.get $units) (i32.add (local.get $at) (i32.const 3))
          (i32.wrap_i64 (i64.shr_u (local.get $four) (i64.const 48))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $fours)))
    (block $end
      (loop $each
        (br_if $end (i32.eq (local.get $at) (local.get $length)))
        (array.set $units (local.get $units) (local.get $at)
          (i32.load16_u (i32.add (local.get $from) (i32.shl (local.get $at) (i32.const 1)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $each)))
    (call $fromCharCodeArray (local.get $units) (i32.const 0) (local.get $length))))
