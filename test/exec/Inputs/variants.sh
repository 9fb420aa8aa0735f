# usage: variants.sh DEVICE FILE OUTPUT: for each condition, runs arguments that meet it and arguments that do not.
device=$1 file=$2 out=$3

# run EXPECTED-VARIANT CHECK ARGUMENTS...
run() {
    expected=$1 expression=$2
    shift 2
    if ! tile-run "$file" --device="$device" --variant "$@" --check "$expression" > "$out" 2>&1 ||
        ! grep -q "^variant  $expected" "$out" || ! grep -q ': 0 wrong$' "$out"; then
        echo "wanted variant $expected: $*"
        cat "$out"
        exit 1
    fi
}

# two VARIANT N K OFFSETS...
two() {
    want=$1 n=$2 k=$3
    shift 3
    for check in u=x v=y; do
        run "$want of 16" $check --kernel=two --arg n=$n --arg k=$k --arg "x=int:f16[$n]" \
            --arg "y=int:f16[$k]" --arg "u=poison:f16[$n]" --arg "v=poison:f16[$k]" "$@"
    done
}

# The variant is 4 * level of x and u, which n concerns, + level of y and v, which k concerns.
two 0 1024 520
two 0 4096 8 --offset x=16 --offset y=32 --offset u=48 --offset v=16
# 8 bytes: an integer, then each address.
two 4 1028 520
two 1 1024 516
two 4 1024 520 --offset x=8
two 1 1024 520 --offset y=24
two 4 1024 520 --offset u=8
two 1 1024 520 --offset v=40
two 5 1028 516 --offset x=8 --offset y=8 --offset u=8 --offset v=8
# 4 bytes.
two 8 1026 520
two 2 1024 522
two 8 1024 520 --offset x=4
two 2 1024 520 --offset v=12
two 6 1028 522
# One group with single elements, the other one as declared.
two 12 4097 520
two 12 1024 520 --offset x=2
two 12 1024 520 --offset u=14
two 3 1024 4097
two 3 1024 520 --offset y=2
two 3 1024 520 --offset v=6
two 13 4097 516
two 7 1028 520 --offset y=2
# No assumption holds.
two 15 4097 4097
two 15 4097 4097 --offset x=2 --offset y=6 --offset u=10 --offset v=14

# A stride is checked like an extent. rows VARIANT N L
rows() {
    run "$1 of 8" y=x --kernel=rows --arg m=1 --arg n=$2 --arg l=$3 --arg "x=int:f16[1,$2]" \
        --arg "y=poison:f16[1,$2]"
}
rows 0 520 520
rows 1 520 524
rows 1 524 520
rows 2 520 522
rows 3 520 521
rows 3 4097 4104

special() {
    want=$1 n=$2
    shift 2
    run "$want" "y=x*$n" --kernel=special --arg n=$n --arg "x=int:f32[$n]" \
        --arg "y=poison:f32[$n]" "$@"
}
special "0 of 9: n value 4096, x divisible 16, y divisible 16" 4096
special "0 of 9: n value 4097, x divisible 16, y divisible 16" 4097
special "3 of 9: n value 4097, x divisible 8, y divisible 16" 4097 --offset x=8
special "8 of 9: n value 4097" 4097 --offset x=4 --offset y=4
special "0 of 9: n value 4096, x divisible 16, y divisible 16" 4096 --param n=4096
