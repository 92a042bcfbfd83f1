import { describe, expect, it, jest } from '@jest/globals';
import { narrativePage } from '../cli/narrative.js';
import { mixedWord, oneLine, printable, wholeLookalike } from './printable.js';

describe('what an agent wrote, in a terminal', () => {
  it('is shown and not obeyed: escapes, bells, marks of direction', () => {
    expect(printable('a\u001b]0;owned\u0007b\u202ec')).toBe('a\\u{1b}]0;owned\\u{7}b\\u{202e}c');
  });

  it.each([
    ['a C1 control, which some terminals take for an escape', '\u009b2J', '\\u{9b}2J'],
    ['an override of direction', 'txt.\u202egnp', 'txt.\\u{202e}gnp'],
    ['isolates', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    ['characters of no width', 'pay\u200bpal\u2060\ufeff', 'pay\\u{200b}pal\\u{2060}\\u{feff}'],
    ['tag characters', 'hi\u{e0049}\u{e0067}', 'hi\\u{e0049}\\u{e0067}'],
    ['variation selectors of both blocks', 'a\ufe0f\u{e0101}', 'a\\u{fe0f}\\u{e0101}'],
    ['joiners and fillers', 'a\u034f\u115f\u3164\uffa0\u180b', 'a\\u{34f}\\u{115f}\\u{3164}\\u{ffa0}\\u{180b}'],
    [
      'separators and spaces that look like others',
      'a\u2028b\u2029c\u00a0d\u3000',
      'a\\u{2028}b\\u{2029}c\\u{a0}d\\u{3000}',
    ],
    ['the blank of Braille', 'a\u2800', 'a\\u{2800}'],
    ['a blank hieroglyph', 'a\u{13441}', 'a\\u{13441}'],
    ['the filler of Khitan', 'a\u{16fe4}', 'a\\u{16fe4}'],
    ['a note without a head', 'a\u{1d159}', 'a\\u{1d159}'],
    ['half a surrogate pair', 'a\ud83d', 'a\\u{d83d}'],
    [
      'a strike through every digit, and ways to cross one out',
      '9\u0336 0\u03360\u0336 1\u03352\u20e53\u1ce2',
      '9\\u{336} 0\\u{336}0\\u{336} 1\\u{335}2\\u{20e5}3\\u{1ce2}',
    ],
    ['a slash through a sign', '=\u0338', '=\\u{338}'],
    ['what is drawn around a letter', 'a\u20ddb\u0489', 'a\\u{20dd}b\\u{489}'],
    ['the fourth mark on a letter', 'v\u0310\u030d\u0311\u034cx', 'v\u0310\u030d\u0311\\u{34c}x'],
    ['marks on a blank', 'a \u0310\u030d\u0311\u034c', 'a \u0310\u030d\u0311\\u{34c}'],
    ['marks that nothing stands before', '\u0310\u030d\u0311\u034c', '\u0310\u030d\u0311\\u{34c}'],
    [
      'marks beyond the sixth where letters have many',
      `\u05d0${'\u05b8'.repeat(8)}`,
      `\u05d0${'\u05b8'.repeat(6)}\\u{5b8}\\u{5b8}`,
    ],
    [
      'marks that something unseen or drawn over parts',
      'v\u0310\u030d\u034f\u0311\u0336\u200b\u034cx',
      'v\u0310\u030d\\u{34f}\u0311\\u{336}\\u{200b}\\u{34c}x',
    ],
    ['a mark beyond the sixteen bits', `a${'\u{1e023}'.repeat(4)}`, `a${'\u{1e023}'.repeat(3)}\\u{1e023}`],
    ['a carriage return, which would overwrite its line', 'no\ryes', 'no\\u{d}yes'],
  ])('shows %s', (_what, written, shown) => {
    expect(printable(written)).toBe(shown);
  });

  it('shows every mark of a heap on one letter, but those that a letter has', () => {
    const heap = '\u0310\u030d\u0311\u034c'.repeat(35);
    const shown = printable(`v${heap}endor`);
    expect(shown.match(/\p{M}/gu)).toHaveLength(3);
    expect(shown.match(/\\u\{3[0-9a-f]{2}\}/g)).toHaveLength(137);
    expect(shown).toMatch(/^v.*endor$/u);
  });

  it.each([
    ['Vietnamese, decomposed', 'Nguyễn Đức Thượng, số tiền bằng chữ, ệ ở'.normalize('NFD')],
    ['Greek of all accents, decomposed', 'ᾧτινι ᾄδων ᾗ ΐ'.normalize('NFD')],
    ['transliterated Sanskrit, decomposed', 'r\u0325\u0304\u0301 ś ṇ ḹ'.normalize('NFD')],
    ['German, Navajo and Chinese, decomposed', 'Überweisung ąą́ lǜ'.normalize('NFD')],
    ['Hebrew with points and accents', 'שָּׁ\u0591\u05bd בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים'],
    ['Arabic with vowels', 'بِسْمِ ٱللَّٰهِ ٱلرَّحْمَٰنِ ـَّٰٓ مُحَمَّدٌ'],
    ['Hindi, with a nukta, a vowel and a nasal', 'ड़ींक ज़्यादा फ़ॉर्म हूँ स्त्रीं'],
    ['Tamil, Bengali and Telugu', 'ஸ்ரீ கொடுப்பனவு স্ত্রীর ব্যাংক స్త్రీలు'],
    ['Burmese', 'ကျွန်ုပ် မြွှေ ကျွှော်င့် ငွေလွှဲ'],
    ['Thai and Lao', 'ที่ น้ำ กตัญญู ชำระเงิน ເງິນ ນ້ຳ ປີ່'],
    ['Tibetan', 'བསྒྲུབས་ ཧཱུྃ རྐྱེན་'],
    ['Khmer and Sinhala', 'ស្រ្តី ក្រុំ ប្រាក់ ශ්රී මුදල්'],
    ['Syriac and Thaana', 'ܫܠܵܡܵܐ ܟܼ̈ ދިވެހި'],
    ['Japanese, decomposed', 'ガギグ パ'.normalize('NFD')],
    ['Korean', '\u1112\u1161\u11ab 한국'],
    ['Old Church Slavonic', 'гдⷭ҇ь бг҃ъ'],
  ])('leaves marks of a script alone: %s', (_what, text) => {
    expect(printable(text)).toBe(text);
  });

  it('asks expressions about each character once, however often a text has it', () => {
    const text = 'a\u04301\u0660e\u0301'.repeat(40);
    printable(text);
    const asked = jest.spyOn(String.prototype, 'search');
    const steps = jest.spyOn(String, 'fromCodePoint');
    try {
      printable(text.repeat(100));
      expect([asked.mock.calls.length, steps.mock.calls.length]).toEqual([0, 0]);
    } finally {
      asked.mockRestore();
      steps.mockRestore();
    }
  });

  it('keeps its lines where lines are meant, and none in a cell', () => {
    expect(printable('a\nb')).toBe('a\nb');
    expect(oneLine('a\nb')).toBe('a\\nb');
  });

  it('leaves letters of every script alone', () => {
    expect(oneLine('Überweisung 送金 🏦')).toBe('Überweisung 送金 🏦');
  });

  it.each([
    ['Cyrillic', 'v\u0435ndor', 'v\\u{435}ndor'],
    ['a key', '{"am\u043eunt": 5, "amount": 1}', '{"am\\u{43e}unt": 5, "amount": 1}'],
    ['Greek', 'p\u03b1ypal.com', 'p\\u{3b1}ypal.com'],
    ['Armenian', 'g\u0585\u0585gle', 'g\\u{585}\\u{585}gle'],
    ['fullwidth', 'vend\uff4fr', 'vend\\u{ff4f}r'],
    ['mathematical', 'vend\u{1d428}r', 'vend\\u{1d428}r'],
    ['the Latin letter in a Cyrillic word', '\u0440a\u0443', '\\u{440}a\\u{443}'],
    ['the letter alone behind a hyphen', 'vendor-\u0430', 'vendor-\\u{430}'],
    ['behind an underline', 'customer_\u0410', 'customer_\\u{410}'],
    ['beside digits', 'GB-\u0410\u042112', 'GB-\\u{410}\\u{421}12'],
    ['a domain', 'bob@\u0440\u0430\u0443.com', 'bob@\\u{440}\\u{430}\\u{443}.com'],
    ['in a value of JSON', '{"to":"acct-\u0430"}', '{"to":"acct-\\u{430}"}'],
    ['a Roman numeral', 'paypa\u217c', 'paypa\\u{217c}'],
    ['the sign of a unit', '\u212amart', '\\u{212a}mart'],
    ['the estimated sign', 'v\u212endor', 'v\\u{212e}ndor'],
    ['the phonetic alphabet', '\u0261oogle p\u0251ypal', '\\u{261}oogle p\\u{251}ypal'],
    ['Cherokee', '\u13aacme', '\\u{13aa}cme'],
    ['Lisu', '\ua4eecme', '\\u{a4ee}cme'],
    ['Coptic, alone', 'acct.\u2c9f', 'acct.\\u{2c9f}'],
    ['a letter between digits', '1\u0417234', '1\\u{417}234'],
    ['letters between digits, in an account', 'Счёт 0\u041e\u043e0', 'Счёт 0\\u{41e}\\u{43e}0'],
    ['the small three', '21\u04374', '21\\u{437}4'],
    ['the Arabic zero in a number, which is drawn as a point', '1\u066000', '1\\u{660}00'],
    ['the Persian one', '{"amount":"1\u06f000"}', '{"amount":"1\\u{6f0}00"}'],
    ['a Bengali four, which is drawn as an eight', '\u09ea0000', '\\u{9ea}0000'],
    ['the Arabic five', 'EUR1\u0665\u0665', 'EUR1\\u{665}\\u{665}'],
    ['digits of two scripts that are both other ones', '\u0661\u06f0\u06f0', '\\u{661}\\u{6f0}\\u{6f0}'],
    ['digits beside letters that mislead', 'v\u0435ndor-1\u0660', 'v\\u{435}ndor-1\\u{660}'],
    ['a word behind a backslash', 'C:\\\\n\u043et', 'C:\\\\n\\u{43e}t'],
  ])('shows letters that pass for Latin ones in a word that has these: %s', (_what, written, shown) => {
    expect(printable(written)).toBe(shown);
    expect(mixedWord(written)).toBeDefined();
  });

  it.each([
    ['Russian', 'Оплата счёта за IT-отдел, USB-кабель 5м: сумма_usd'],
    ['Russian behind names of Latin letters', 'B2B-рост, USB-порт, https://a.b/wiki/Рост'],
    ['Russian in JSON without blanks', '{"to":"сор","sum_usd":"а\\nа"}'],
    ['Russian sizes and numbers', '10х20 см, 3в1, дом 12б, А123ВС77, 5-го'],
    ['Greek ordinals', '1ο, 20ός'],
    ['Greek', 'Πληρωμή του λογαριασμού για e-mail'],
    ['Ukrainian', 'Сплата за її послуги'],
    ['Armenian', 'Հայերեն տեքստ'],
    ['Japanese', 'ＰＣとTシャツの送金、A４用紙'],
    ['Arabic', 'دفع الفاتورة PDF'],
    ['Arabic around Latin letters', 'ملفاPDF'],
    ['German', 'Überweisung für Straße, Café naïve'],
    ['Turkish, Danish and French', 'ödeme tutarı-TRY, Ærø, cœur, Kabyle taɣuri'],
    ['Myanmar', 'ဝယ်PDF'],
    ['signs of mathematics and trade', '1920×1080px A∪B №A5 Acme™'],
    ['units and formulas', 'kΩ μm Δt λ'],
    ['Arabic, Hindi and Japanese with their own digits', 'المبلغ ١٬٠٠٠٫٥٠ ريال २०२६-०१-०१ ３月15日 １２０'],
    ['numbers of mathematics', '\u{1d7d8}\u{1d7e1} \u{1d7ce}\u{1d7d7}'],
    ['lines in JSON', JSON.stringify('первый\nвторой\tстроки')],
  ])('leaves ordinary text as it is: %s', (_what, text) => {
    expect(printable(text)).toBe(text);
    expect(mixedWord(text)).toBeUndefined();
  });

  it.each([
    ['Cyrillic beside Latin', '\u0410\u0421\u041c\u0415 Ltd', '\\u{410}\\u{421}\\u{41c}\\u{415} Ltd'],
    ['Cyrillic alone', '\u0406\u0412\u041c', '\\u{406}\\u{412}\\u{41c}'],
    ['small letters', '\u0430\u0441\u0435', '\\u{430}\\u{441}\\u{435}'],
    [
      'the palochka',
      '\u0440\u0430\u0443\u0440\u0430\u04cf inc',
      '\\u{440}\\u{430}\\u{443}\\u{440}\\u{430}\\u{4cf} inc',
    ],
  ])('is told from a name of Latin letters that it wholly looks like: %s', (_what, written, shown) => {
    expect(wholeLookalike(written)).toBe(shown);
  });

  it.each(['ООО Ромашка', 'Αθήνα ΑΕ', '山田商店', 'Acme Ltd', 'Müller & Çelik', '12345', 'مؤسسة النور'])(
    'is no such name where a letter is of its script alone, or all are Latin: %s',
    (text) => expect(wholeLookalike(text)).toBeUndefined(),
  );

  it('is made so on the page of a narrative too', () => {
    const page = narrativePage({
      headline: 'bot\u001b[2J',
      story: [{ text: 'called \u001b[31mx', seqs: [1] }],
      notable: [{ seq: 1, at: '2026-01-01T00:00:00.000Z', summary: 'a\u001b[0m' }],
      sparkline: { bucket: 'day', points: [] },
    } as unknown as Parameters<typeof narrativePage>[0]);
    expect(page).not.toContain('\u001b');
  });
});
