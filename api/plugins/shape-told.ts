import { z } from 'zod';

/** What has a length, and in what it is counted. */
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  file: ['byte', 'bytes'],
};
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  date: 'a time',
};
const FORMS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  guid: 'a UUID',
  email: 'an address of mail',
  url: 'an address (URL)',
  datetime: 'a time as 2026-01-02T03:04:05Z',
  date: 'a day as 2026-01-02',
  time: 'a time of day as 03:04:05',
  base64: 'base64',
  base64url: 'base64url',
  hex: 'hexadecimal digits',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
};

const counted = (count: number | bigint, origin: string): string => {
  const [one, many] = COUNTED[origin] ?? ['', ''];
  return `${count} ${Number(count) === 1 ? one : many}`.trim();
};
/** A value as people write it; there is no end to how many there may be. */
const listed = (values: readonly unknown[]): string =>
  values.length > 12 ? `${values.slice(0, 12).join(', ')} and ${values.length - 12} more` : values.join(', ');

/**
 * What is wrong with a value, to be read behind its name: "is longer than 256 characters". Whoever reads it knows no schema. What a shape says
 * of itself in its own words stands instead.
 */
export function shapeTold(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing';
      return `has to be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_big':
      if (issue.origin in COUNTED)
        return issue.exact
          ? `has to have exactly ${counted(issue.maximum, issue.origin)}`
          : `is longer than ${counted(issue.maximum, issue.origin)}`;
      return `has to be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
    case 'too_small':
      if (!(issue.origin in COUNTED))
        return `has to be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
      if (issue.exact) return `has to have exactly ${counted(issue.minimum, issue.origin)}`;
      return Number(issue.minimum) === 1 ? 'is empty' : `is shorter than ${counted(issue.minimum, issue.origin)}`;
    case 'invalid_format': {
      const form = FORMS[issue.format];
      return form === undefined ? 'is not written as it has to be' : `is not ${form}`;
    }
    case 'invalid_value':
      return issue.values.length === 1
        ? `has to be ${String(issue.values[0])}`
        : `is none of ${listed(issue.values.map(String))}`;
    case 'unrecognized_keys':
      return `has what is not known here: ${listed(issue.keys)}`;
    case 'not_multiple_of':
      return `has to be a multiple of ${issue.divisor}`;
    case 'invalid_key':
    case 'invalid_element':
      return 'has an entry that is not as it has to be';
    default:
      return 'is none of what it may be';
  }
}

/** Has whatever is read in this process be told so. */
export const tellShapes = (): void => void z.config({ localeError: shapeTold });

/** The same with the name of the field, as `arguments.amount`. */
export const fieldTold = (path: string, words: string): string =>
  `${path.split('/').filter(Boolean).join('.')} ${words}`.trim();
