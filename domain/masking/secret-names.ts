import type { Json, JsonObject } from '../../contracts/json.js';
import { holdsName, holdsValue } from '../argument-names.js';
import { digitsAsLetters } from '../skeleton.js';
import { plainReading } from '../plain-name.js';
import { words } from '../text.js';

/** A word of a name that says that a secret stands behind it. */
const WORDS = words(
  'password passwords passwd passphrase passcode pass pwd pw secret secrets token tokens auth authorization authentication bearer jwt cookie cookies ' +
    'credential credentials ssn cvv cvc otp totp mfa pin apikey apikeys',
);
/** The same in a name that is written in one, and names of two words. */
const GLUED =
  /passw[oe]?r[dt]|passwd|passphrase|passcode|(?<!no)pwd|secret(?!ar)|credential|authorization|(?:token|cookie)s?$|(?:api|private|access|secret|signing|encryption|auth|master|shared|account|storage)keys?|session(?:id|key)|kennwort|contrase[nñ]a|senha$|motdepasse|парол|has[lł]o$|wachtwoord|l[oö]senord|şifre(?:niz)?$|socialsecurity|密码|密碼|パスワード|暗証番号|비밀번호/u;
/** Of a secret these are no secret: `token_count`, `secret_name`, `password_policy`. */
const ABOUT = words(
  'count counts max min limit limits total amount number size length budget usage price balance supply name names type kind url uri endpoint path policy ' +
    'description title label status state expiry expires expiration ttl age rotation required enabled note notes',
);
const LONGEST = 256;

const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])(?=[A-Z])/g, '$1 ')
    .replaceAll(/([A-Z])(?=[A-Z][a-z])/g, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]{1,256}/u)
    .filter((word) => word !== '');

/** The readings of a name in which its spelling hides nothing. */
function readingsOf(name: string): readonly string[] {
  const short = name.length > LONGEST ? name.slice(-LONGEST) : name;
  const readings = [short];
  const plain = plainReading(short);
  if (plain !== short) readings.push(plain);
  if (/[0-9]/.test(plain)) readings.push(digitsAsLetters(plain), plain.replaceAll(/[0-9]/g, ''));
  return readings;
}

/** Whether a name in any spelling says that a secret stands behind it: `DB_PASSWORD`, `userPassword`, `X-Api-Key`, `pａsswd`, `p4ssword2`. */
export const isSecretName = (name: string): boolean =>
  readingsOf(name).some((read) => {
    const glued = read.toLowerCase().replaceAll(APART, '');
    return GLUED.test(glued) || (HOLDS_WORD.test(glued) && wordsOf(read).some((word) => WORDS.has(word)));
  });
/** Most names hold none of the words, and are not taken apart. */
const HOLDS_WORD = /pass|pw|secret|token|auth|bearer|jwt|cookie|credential|ssn|cv[vc]|otp|mfa|pin|apikey/;
const APART = /[^\p{L}\p{N}]/gu;

/** The same, without names of what is said about a secret. */
export const namesSecretItself = (name: string): boolean =>
  isSecretName(name) && (!ABOUT.has(wordsOf(name).at(-1) ?? '') || SOCIAL_SECURITY.test(wordsOf(name).join('')));
const SOCIAL_SECURITY = /socialsecuritynumber$/;

/** Names as people write them in a text: `API key`, `secret access key`, `mot de passe`. */
const SPOKEN =
  /(?:^|\W)(?:(?:api|private|access|signing|encryption|auth|master|shared|account|storage) keys?|session (?:id|key)|social security number|mot de passe)$/i;
/** Whether the last words of a text, up to three, are such a name. */
export const endsInSpokenName = (text: string): boolean => SPOKEN.test(text.slice(-LONGEST_SPOKEN));
const LONGEST_SPOKEN = 32;

/** As often these name something else: what passed, a pin on a board, a directory, how somebody proves who he is. */
const AMBIGUOUS = words('pass pin auth pwd');
/** Whether a name is one of these and nothing more. */
export const isAmbiguous = (name: string): boolean => {
  const read = wordsOf(name);
  return read.length === 1 && AMBIGUOUS.has(read[0] as string);
};
/** What is often a number: a code, or a password of digits. */
const OFTEN_NUMBERS = words(
  'pin otp totp mfa cvv cvc ssn passcode password passwords passwd pwd pw passphrase kennwort',
);
export const mayBeNumber = (name: string): boolean =>
  readingsOf(name)
    .map(wordsOf)
    .some(
      (read) => read.some((word) => OFTEN_NUMBERS.has(word)) || /passw[oe]?r[dt]|socialsecurity/.test(read.join('')),
    );

/** Words before the secret itself, as HTTP has them. */
export const SCHEME = /^(?:bearer|basic|digest|token|negotiate|ntlm|hawk|hmac|jwt|bot|oauth|api-?key|key)$/i;

/**
 * The name by which a member of an object holds a secret, if it does, by `isSecret`: also the value of a pair (`{"name": "Authorization", "value": "…"}`).
 */
export function secretMembers(
  object: JsonObject,
  isSecret: (name: string) => boolean,
  names: readonly string[] = Object.keys(object),
): (key: string) => string | undefined {
  const nameOfPair = names
    .filter(holdsName)
    .map((key) => object[key])
    .find((value) => typeof value === 'string' && namesSecretItself(value)) as string | undefined;
  return (key) => (isSecret(key) ? key : holdsValue(key) ? nameOfPair : undefined);
}

/** The same for the items of a list: behind a flag (`["--password", "…"]`), and the second one of a pair (`["password", "…"]`). */
export function secretItems(list: readonly Json[]): (at: number) => string | undefined {
  const isPair = list.length === 2;
  return (at) => {
    const before = list[at - 1];
    return typeof before === 'string' && (isPair || FLAG.test(before)) && namesSecretItself(before)
      ? before
      : undefined;
  };
}
const FLAG = /^--?[\w-]{1,64}$/;
