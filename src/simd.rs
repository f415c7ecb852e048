//! The room of `unsafe` code (except for one allocation in `memory`): it runs kernels with the widest vector
//! instructions of the machine, reads tables at positions that are known to be in range, and uses two instructions for
//! which the language has no portable name.
#![allow(unsafe_code)]

/// A loop nest worth compiling for several instruction sets. `run` and everything it calls must be `#[inline(always)]`.
pub(crate) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a kernel compiled for the widest vector instructions that this machine has, chosen at run time.
#[inline]
pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx512() {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx512(kernel) };
        }
    }
    middling(kernel)
}

/// Runs a kernel that spends its time on counting bits: as [`widest`] does, but with the instruction that counts the bits
/// of a whole vector, if there is one.
#[inline]
pub(crate) fn counting<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,fma,bmi1,bmi2,popcnt")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx512() && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx512(kernel) };
        }
    }
    widest(kernel)
}

/// Runs a kernel that spends its time on looking up numbers one by one. It is compiled for AVX2 at most: for AVX-512,
/// compilers gather the numbers into wide vectors, which takes longer than to load one after another.
#[inline]
pub(crate) fn middling<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx2() {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[inline]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[inline]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// `slice[i]`. With `--cfg arborshap_checked` every such read is checked, and kernels are compiled for the baseline
/// instructions only: a twin that takes nothing on trust.
///
/// # Safety
/// `i < slice.len()`.
#[inline(always)]
unsafe fn read<T: Copy>(slice: &[T], i: usize) -> T {
    debug_assert!(i < slice.len());
    if cfg!(arborshap_checked) {
        slice[i]
    } else {
        // SAFETY: the caller's promise.
        unsafe { *slice.get_unchecked(i) }
    }
}

/// Where the numbers of each row of a block begin in a table, together with the largest of these positions.
pub(crate) struct Offsets<const R: usize> {
    each: [u32; R],
    largest: u32,
}

impl<const R: usize> Offsets<R> {
    /// Positions in a table with `width` numbers per index.
    #[inline(always)]
    pub(crate) fn new(indices: &[u16; R], width: u32) -> Self {
        let (mut each, mut largest) = ([0_u32; R], 0);
        for r in 0..R {
            each[r] = u32::from(indices[r]) * width;
            largest = largest.max(each[r]);
        }
        Self { each, largest }
    }
}

/// `sums[r] += table[offsets[r] + column]` for every row of a block.
///
/// # Panics
/// If the largest offset leads outside the table.
#[inline(always)]
pub(crate) fn add_looked_up<const R: usize>(sums: &mut [f64; R], table: &[f64], offsets: &Offsets<R>, column: usize) {
    assert!((offsets.largest as usize) < table.len().saturating_sub(column));
    for (sum, &offset) in sums.iter_mut().zip(&offsets.each) {
        // SAFETY: `offset <= largest`, since `Offsets` is only made so, and `largest + column < table.len()`.
        *sum += unsafe { read(table, offset as usize + column) };
    }
}

/// Asks for the memory of `slice[i]`, if there is such an entry, so that it is there when it is read.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], i: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(entry) = slice.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of the baseline, and changes nothing that a program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (slice, i);
}

/// One bit for each byte, which is 0 or 1.
#[inline(always)]
pub(crate) fn bits(bytes: &[u8; 64]) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8, _mm_slli_epi16};
        let (sixteens, _) = bytes.as_chunks::<16>();
        let mut mask = 0;
        for (i, sixteen) in sixteens.iter().enumerate() {
            // SAFETY: the instructions are part of the baseline, and the load reads the 16 bytes of the array.
            let signs = unsafe { _mm_movemask_epi8(_mm_slli_epi16::<7>(_mm_loadu_si128(sixteen.as_ptr().cast()))) };
            mask |= u64::from(signs as u16) << (16 * i);
        }
        mask
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(arborshap_checked))))]
    portable_bits(bytes)
}

/// The same without vector instructions: eight bytes become eight bits by one multiplication.
#[cfg_attr(
    all(target_arch = "x86_64", not(miri), not(arborshap_checked), not(test)),
    expect(dead_code, reason = "a twin")
)]
#[inline(always)]
fn portable_bits(bytes: &[u8; 64]) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    let mut mask = 0;
    for (i, &eight) in eights.iter().enumerate() {
        mask |= (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    mask
}

/// How many of the ascending cuts are below each of the numbers; no cut is below NaN.
#[inline(always)]
pub(crate) fn count_below<T: Copy + PartialOrd, const L: usize>(cuts: &[T], x: &[T; L]) -> [u32; L] {
    let mut below = [0_u32; L];
    let mut n = cuts.len();
    if n == 0 {
        return below;
    }
    // All searches advance in step, so that every step is a few wide instructions. Each answer lies between `below` and
    // `below + n`, and `below + n <= cuts.len()` always holds.
    while n > 1 {
        let half = n / 2;
        for l in 0..L {
            debug_assert!(below[l] as usize + n <= cuts.len());
            // SAFETY: `below + half - 1 < below + n <= cuts.len()`.
            let cut = unsafe { read(cuts, below[l] as usize + half - 1) };
            below[l] += if cut < x[l] { half as u32 } else { 0 };
        }
        n -= half;
    }
    for l in 0..L {
        // SAFETY: `below + 1 <= cuts.len()`.
        let cut = unsafe { read(cuts, below[l] as usize) };
        below[l] += u32::from(cut < x[l]);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against reads that are checked, at every column and up to the last index.
    fn looked_up<const R: usize>(width: usize, entries: usize) {
        let table: Vec<f64> = (0..width * entries).map(|i| (i * i + 1) as f64).collect();
        for step in [0, 1, 3, 7] {
            let indices: [u16; R] = std::array::from_fn(|r| ((entries - 1 + r * step) % entries) as u16);
            let offsets = Offsets::new(&indices, width as u32);
            for column in 0..width {
                let mut sums = [0.5; R];
                add_looked_up(&mut sums, &table, &offsets, column);
                let checked = indices.map(|index| 0.5 + table[usize::from(index) * width + column]);
                assert!(sums.iter().zip(&checked).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }

    #[test]
    fn looked_up_as_with_checks() {
        for (width, entries) in [(1, 1), (1, 8), (3, 5), (7, 64), (10, 2)] {
            looked_up::<1>(width, entries);
            looked_up::<16>(width, entries);
            looked_up::<128>(width, entries);
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn a_column_beyond_the_table_is_refused() {
        add_looked_up(&mut [0.0; 2], &[1.0; 8], &Offsets::new(&[0, 3], 2), 2);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn an_empty_table_is_refused() {
        add_looked_up(&mut [0.0; 1], &[], &Offsets::new(&[0], 1), 0);
    }

    #[test]
    fn bits_stand_for_their_bytes() {
        let mut state = 1_u64;
        for _ in 0..200 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let word = state ^ (state >> 29);
            let bytes: [u8; 64] = std::array::from_fn(|i| (word >> i & 1) as u8);
            assert_eq!((bits(&bytes), portable_bits(&bytes)), (word, word));
        }
    }

    #[test]
    fn counted_as_with_checks() {
        let numbers = [f64::NEG_INFINITY, -0.5, 0.0, 0.5, 3.0, 6.5, f64::INFINITY, f64::NAN];
        for n in 0..20 {
            let cuts: Vec<f64> = (0..n).map(|i| f64::from(i) / 2.0).collect();
            let checked = numbers.map(|x| cuts.iter().filter(|&&cut| cut < x).count() as u32);
            assert_eq!(count_below(&cuts, &numbers), checked, "{n} cuts");
        }
    }
}
