import { describe, expect, it } from '@jest/globals';
import { hasUuidForm, isUuid } from './uuid.js';

describe('a text', () => {
  it.each([
    ['a UUID of version 4', '0b6f6a3e-2c1d-4e5f-8a9b-0c1d2e3f4a5b', true, true],
    ['one of no known version', '0b6f6a3e-2c1d-0e5f-0a9b-0c1d2e3f4a5b', true, false],
    ['one in capitals', '0B6F6A3E-2C1D-4E5F-8A9B-0C1D2E3F4A5B', false, false],
    ['one without hyphens', '0b6f6a3e2c1d4e5f8a9b0c1d2e3f4a5b', false, false],
    ['one with a line behind it', '0b6f6a3e-2c1d-4e5f-8a9b-0c1d2e3f4a5b\n', false, false],
    ['nothing', '', false, false],
  ])('that is %s has the form of a UUID, or is one, or neither', (_what, text, form, uuid) => {
    expect([hasUuidForm(text), isUuid(text)]).toEqual([form, uuid]);
  });
});
