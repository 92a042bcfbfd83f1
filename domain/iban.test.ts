import { describe, expect, it } from '@jest/globals';
import { ibansIn, isWithinIban } from './iban.js';

/** One of each country, most of them the examples of the registry of ISO 13616. */
const EXAMPLES = (
  'AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201 AZ21NABZ00000000137010001944 ' +
  'BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456 BI4210000100010000332045181 BR1800360305000010009795493C1 ' +
  'BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CR05015202001026284066 CY17002001280000001200527600 CZ6508000000192000145399 ' +
  'DE89370400440532013000 DJ2100010000000154000100186 DK5000400440116243 DO28BAGR00000001212453611324 EE382200221020145685 ' +
  'EG380019000500000000263180002 ES9121000418450200051332 FI2112345600000785 FK88SC123456789012 FO6264600001631634 FR1420041010050500013M02606 ' +
  'GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695 ' +
  'GT82TRAJ01020000001210029690 HN88CABF00000000000250005469 HR1210010051863000160 HU42117730161111101800000000 IE29AIBK93115212345678 ' +
  'IL620108000000099999999 IQ98NBIQ850123456789012 IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302 ' +
  'KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114 LC55HEMM000100010012001200023015 LI21088100002324013AA ' +
  'LT121000011101001000 LU280019400644750000 LV80BANK0000435195001 LY83002048000020100120361 MC5811222000010123456789030 MD24AG000225100013104168 ' +
  'ME25505000012345678951 MK07250120000058984 MN121234123456789123 MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S ' +
  'MU17BOMM0101101030300200000MUR NI45BAPR00000013000003558124 NL91ABNA0417164300 NO9386011117947 OM810180000001299123456 PK36SCBL0000001123456702 ' +
  'PL61109010140000071219812874 PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000 ' +
  'RS35260005601001611379 RU0304452522540817810538091310419 SA0380000000608010167519 SC18SSCB11010000000000001497USD SD2129010501234001 ' +
  'SE4550000000058398257466 SI56263300012039086 SK3112000000198742637541 SM86U0322509800000000270100 SO211000001001000100141 ' +
  'ST23000100010051845310146 SV62CENR00000000000000700025 TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326 ' +
  'UA213223130000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906 YE15CBYE0001018861234567891234'
).split(' ');
const inGroups = (compact: string): string => compact.replaceAll(/.{4}(?=.)/g, '$& ');
const foundIn = (text: string): string[] => Array.from(ibansIn(text), ([start, end]) => text.slice(start, end));

describe('account numbers in a text', () => {
  it('are found of every country, in groups or not', () => {
    expect(EXAMPLES.filter((one) => foundIn(`to ${one}.`)[0] !== one)).toEqual([]);
    expect(EXAMPLES.filter((one) => foundIn(`to ${inGroups(one)} of`)[0] !== inGroups(one))).toEqual([]);
    expect(new Set(EXAMPLES.map((one) => one.slice(0, 2))).size).toBe(EXAMPLES.length);
  });

  it.each([
    ['', ' ', ''],
    ['', '\t', ''],
    ['', '\r\n', ''],
    ['', '.', ''],
    ['', '/', ''],
    ['', '_', ''],
    ['', '+', ''],
    ['', '\u00a0', ''],
    ['', '\u2007', ''],
    ['', '\u2009', ''],
    ['', '\u2011', ''],
    ['', '\u2013', ''],
    ['', '\u2212', ''],
    ['', '\u200b', ''],
    ['', '\u00ad', ''],
    ['', '%20', ''],
    ['', '%2520', ''],
    ['', '%C2%A0', ''],
    ['', '&nbsp;', ''],
    ['', '&#160;', ''],
    ['', '&#xA0;', ''],
    ['', '\\n', ''],
    ['', '\\u00a0', ''],
    ['', '\\\\t', ''],
    ['', '\\x20', ''],
    ['note\\n', '', ''],
    ['note\\\\r', '', '\\r'],
    ['IBAN', '', ''],
    ['a1IBAN', '', ''],
    ['iban%3D', '', '%26'],
    ["LIKE '%", '', "%'"],
    ['to', '', ''],
    ['', '', 'EUR'],
    ['', '', 'EUR100'],
    ['', ' ', ' EUR 100'],
    ['Ж', '', 'Ж'],
  ])('is found behind %j, with %j between its groups, before %j', (before, between, behind) => {
    const written = inGroups('DE89370400440532013000').replaceAll(' ', between);
    expect(foundIn(`${before}${written}${behind}`)).toEqual([written]);
  });

  it.each([
    ['full width', 0xff10, 0xff21],
    ['mathematics', 0x1d7ce, 0x1d400],
    ['Arabic digits', 0x660, 0x41],
    ['Devanagari digits', 0x966, 0x41],
  ])('is found in %s', (_, zero, capitalA) => {
    const written = 'GB82 WEST 1234 5698 7654 32'.replaceAll(/[A-Z0-9]/g, (sign) =>
      String.fromCodePoint(/\d/.test(sign) ? zero + Number(sign) : capitalA + sign.charCodeAt(0) - 0x41),
    );
    expect(foundIn(`to ${written}, now`)).toEqual([written]);
  });

  it.each([
    '01a22877-dae5-711b-be53-3c4b46814324',
    'be509a1249aeaa8a',
    // Its check digits are right, but no bank of Belgium has a letter in its number.
    'BE71 0961 2345 676A'.toLowerCase(),
    // A UUID with an account number in it.
    '12345678-1234-4123-be68-539007547034',
    'DE893704004405320130001',
    '1DE89370400440532013000',
    'DE89370400440532013001',
    'US64SVBKUS6S3300958879',
    'NO 9386011117947',
    'DE89 3704, 0044 0532 0130 00',
    `DE89${' '.repeat(40)}370400440532013000`,
    '',
  ])('is none in %j', (text) => {
    expect(foundIn(text)).toEqual([]);
  });

  it('are no words behind a week, whatever their check digits', () => {
    const found = Array.from({ length: 97 }, (_, week) =>
      foundIn(`KW${String(week).padStart(2, '0')} mit dem ganzen Team in Graz, danach Urlaub`),
    );
    expect(found.flat()).toEqual([]);
    expect(foundIn('DE 89 3704 0044 0532 0130 00')).toHaveLength(1);
  });

  it('hold a part of a text', () => {
    const text = 'pay DE23 4805 0161 6167 2352 33 to ann';
    const at = text.indexOf('4805');
    expect(isWithinIban(text, at, at + 19)).toBe(true);
    expect(isWithinIban(text, at, text.length)).toBe(false);
    expect(isWithinIban(text.replace('33', '34'), at, at + 19)).toBe(false);
  });
});
