# Compiles every kernel of a file, and every combination of its @combined, to PTX, and assembles it.
# usage: tma_all.sh FILE.tile OUT.ptx ASSEMBLE..
set -e
file=$1 out=$2
shift 2
for kernel in matrix unswizzled one three four five halo pieces shared_out doubled; do
    tilec "$file" --kernel=$kernel --target=sm_90a --emit=ptx -o "$out"
    "$@" "$out"
done
for T in i8 i16 bf16 f32 f64 tf32 e4m3 e5m2; do
    tilec "$file" --kernel=matrix --param T=$T --param w=16 --param swizzle=0 --target=sm_90a --emit=ptx -o "$out"
    "$@" "$out"
done
for one in f16,add bf16,min f16,max bf16,add f32,add f64,add i32,min i64,max i32,and i64,or i32,xor; do
    tilec "$file" --kernel=combined --param T=${one%,*} --param kind=${one#*,} --target=sm_90a --emit=ptx -o "$out"
    "$@" "$out"
done
