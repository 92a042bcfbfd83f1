import { expect, it } from '@jest/globals';
import { gateCommand } from './output.js';
import { acceptCommand } from './pins.js';

it('the command that accepts what was shown is typed as it is here, and goes to the same process', () => {
  expect(acceptCommand('acme/one', 'abc', undefined)).toBe(`${gateCommand()} pins accept acme/one --shown abc`);
  expect(acceptCommand('one', 'abc', 'http://127.0.0.1:9')).toMatch(/ --shown abc --endpoint http:\/\/127\.0\.0\.1:9$/);
});
