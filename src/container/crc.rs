//! CRC-64/XZ. It notices every change within eight neighbouring bytes, and all but one in 2^64 of the others.

/// The polynomial of ECMA-182, bits reversed.
const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;

/// `TABLES[k][b]`: what byte `b` does to the remainder when `k` more bytes follow it.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut b = 0;
    while b < 256 {
        let mut r = b as u64;
        let mut bit = 0;
        while bit < 8 {
            r = (r >> 1) ^ if r & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][b] = r;
        b += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut b = 0;
        while b < 256 {
            let r = tables[k - 1][b];
            tables[k][b] = (r >> 8) ^ tables[0][(r & 0xFF) as usize];
            b += 1;
        }
        k += 1;
    }
    tables
}

/// The checksum of these bytes.
pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    let mut r = !0_u64;
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let x = (r ^ u64::from_le_bytes(*eight)).to_le_bytes();
        r = (0..8).fold(0, |sum, i| sum ^ TABLES[7 - i][usize::from(x[i])]);
    }
    for byte in rest {
        r = (r >> 8) ^ TABLES[0][usize::from(r as u8 ^ byte)];
    }
    !r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_check_value_of_the_catalogues() {
        assert_eq!(crc64(b"123456789"), 0x995D_C9BB_DF19_39FA);
        assert_eq!(crc64(b""), 0);
    }

    #[test]
    fn eight_at_a_time_is_one_at_a_time() {
        let bytes: Vec<u8> = (0..100_u8).map(|i| i.wrapping_mul(167)).collect();
        for n in 0..bytes.len() {
            let singly = bytes[..n].iter().fold(!0_u64, |r, byte| (r >> 8) ^ TABLES[0][usize::from(r as u8 ^ byte)]);
            assert_eq!(crc64(&bytes[..n]), !singly, "{n} bytes");
        }
    }
}
