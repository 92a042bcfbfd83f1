import { withoutAccents } from '../argument-values.js';
import { clipped, words } from '../text.js';

/** Of a longer text its beginning is read. */
const READ = 256;
const plainText = (text: string): string => withoutAccents(clipped(text, READ)).trim().toLowerCase();

const NUMBERS = words(
  `one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
  thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion grand dozen half
  eins zwei drei vier funf sechs sieben acht neun zehn zwanzig hundert tausend million millionen
  un deux trois quatre cinq six sept huit neuf dix vingt cent cents mille dos tres cuatro cinco seis siete ocho nueve diez cien ciento mil`,
);
const ENDINGS = ['hundred', 'thousand', 'million', 'hundert', 'tausend', 'cientos'];
/** As much as there is. */
const ALL = words('all everything full entire whole max maximum rest remaining remainder balance alles todo tout');
const CHINESE_NUMBER = /[〇零一二三四五六七八九十百千万億亿兆]/u;

const DATE =
  /^(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d)(?:[t ][\d:.]{1,18})?\s?(?:z|utc|[+-]\d\d:?\d\d)?$/;
const TIME = /^(?:\d{1,2}:\d\d(?::\d\d)?|now(?:[+-]\d{1,6}[a-z])?(?:\/[a-z])?|today|tomorrow|yesterday)$/;
/** A point of time, and nothing else: an end of a span or a detail. Somebody may be named so all the same. */
export const isDate = (value: unknown): boolean => {
  if (typeof value !== 'string' || value.length > 64) return false;
  const text = value.trim().toLowerCase();
  return DATE.test(text) || TIME.test(text);
};

const MEASURE = /^\d{1,9}(?:[.,]\d{1,9})?\s?(?:g|kg|mg|ml|cl|dl|l|oz|lb|lbs|mm|cm|km|kcal|tsp|tbsp|cup|cups)$/;

/** So much of a thing. Money in short letters too, so that beside somebody who is paid it counts as any text does. */
export const isMeasure = (value: unknown): boolean => typeof value === 'string' && MEASURE.test(plainText(value));

/** Whether a value under the name of an amount is one: a number in any script, in words, with anything beside it, or all there is. */
export function saysAmount(value: string | number | boolean): boolean {
  if (typeof value !== 'string') return typeof value === 'number';
  const text = plainText(value);
  if (/\p{N}/u.test(clipped(value, READ)) || CHINESE_NUMBER.test(text)) return true;
  const said = text.split(/[^\p{L}]+/u);
  return said.some((word) => NUMBERS.has(word) || ALL.has(word) || ENDINGS.some((ending) => word.endsWith(ending)));
}

/** The same for a value under a name of other things too: a number with a few letters beside it, and no sentence. */
export const looksLikeMoney = (value: string | number | boolean): boolean =>
  saysAmount(value) &&
  (typeof value === 'number' || /^[^\p{L}]*(?:\p{L}{1,16}[^\p{L}]*){0,3}$/u.test(plainText(String(value))));

const FACTORS: ReadonlyMap<string, number> = new Map([
  ['k', 1e3],
  ['thousand', 1e3],
  ['m', 1e6],
  ['million', 1e6],
  ['b', 1e9],
  ['bn', 1e9],
  ['billion', 1e9],
]);
/** Beside a number they make it no larger. */
const OF_MONEY = words('dollar dollars euro euros pound pounds francs franken yen yuan cent cents us');

/**
 * How large an amount is as far as its digits tell, so that the largest of many is shown. What cannot be read counts as the largest: several
 * numbers, a word that is on no list, what is longer than is read. Three digits behind a point or comma are thousands to some readers, and a
 * fraction to others.
 */
export function magnitudeOf(text: string, three: 'thousands' | 'fraction' = 'thousands'): number {
  const whole = plainText(text);
  const [found, ...others] = whole.matchAll(
    /([.,]?\d[\d.,'_ ]{0,60})(e[+-]?\d{1,3})?\s?([^\p{L}\d]{0,8})(\p{L}{0,16})/gu,
  );
  if (found === undefined || others.length > 0 || text.length > READ || whole.startsWith('0x'))
    return Number.POSITIVE_INFINITY;
  const [, number = '', exponent = '', between = '', unit = ''] = found;
  const factor = between === '' ? FACTORS.get(unit) : undefined;
  const said = [
    whole.slice(0, found.index),
    factor === undefined ? unit : '',
    whole.slice(found.index + found[0].length),
  ];
  const beside = said.flatMap((part) => part.split(/[^\p{L}\p{N}]+/u)).filter((word) => word !== '');
  if (!beside.every((word) => isCurrency(word) || OF_MONEY.has(word))) return Number.POSITIVE_INFINITY;
  const digits = number.replaceAll(/['_ ]/g, '').replace(/[.,]$/, '');
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  const isFraction = last >= 0 && (three === 'fraction' || digits.length - last - 1 !== 3);
  const before = (isFraction ? digits.slice(0, last) : digits).replaceAll(/[.,]/g, '');
  const fraction = isFraction ? digits.slice(last + 1) : '0';
  return Number(`${before === '' ? '0' : before}.${fraction}${exponent}`) * (factor ?? 1);
}

/** ISO 4217, and what exchanges trade beside it. */
const CURRENCIES = words(
  `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNH CNY COP CRC CUP CVE
  CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS
  KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR
  PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD
  TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XAG XAU XCD XOF XPF YER ZAR ZMW ZWL BTC ETH USDT USDC SOL XRP BNB DOGE LTC ADA`,
);
export const isCurrency = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= 8 && CURRENCIES.has(value.trim().toUpperCase());
