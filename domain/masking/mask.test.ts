import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../contracts/json.js';
import { maskByRules } from '../models/mask.js';
import { mask } from './mask.js';

const key = ['-----BEGIN EC PRIVATE', 'KEY-----\nMHcCAQ\n-----END EC PRIVATE', 'KEY-----'].join(' ');

describe('members whose names await a value', () => {
  it('stay apart too: what would be masked again with its number is called otherwise', () => {
    const masked = mask({ "a@b.cc password:'": 1, "d@b.cc password:'": 2, "e@b.cc password:'": 3 });
    expect(Object.keys(masked as object)).toHaveLength(3);
    expect(mask(masked)).toEqual(masked);
    expect(JSON.stringify(masked)).not.toContain('@');
  });
  it.each(['access key: DE89 3704 0044 0532 0130 00', 'token: GB82 WEST 1234 5698 7654 32'])(
    'and an account number behind such a name is taken out whole: %s',
    (text) => expect(mask(text)).toBe(`${text.split(':')[0]}: [IBAN]`),
  );
});

describe('masking of what people read', () => {
  it.each([
    ['a social security number', 'ssn is 078-05-1120.', 'ssn is [SSN].'],
    ['a card number', 'pay with 4111 1111 1111 1111 now', 'pay with [CC] now'],
    ['no other long number', 'order 4111111111111112', 'order 4111111111111112'],
    ['an account number, of which a part passes for a card', 'to DE23 4805 0161 6167 2352 33.', 'to [IBAN].'],
    ['one without blanks', 'IBAN:GB82WEST12345698765432,', 'IBAN:[IBAN],'],
    ['one with dashes, in small letters', 'to de89-3704-0044-0532-0130-00 now', 'to [IBAN] now'],
    ['one with no-break spaces', 'to DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000 now', 'to [IBAN] now'],
    ['two, and no word beside them', 'DE89370400440532013000 to NO93 8601 1117 947 of ann', '[IBAN] to [IBAN] of ann'],
    ['no account number with another check digit', 'to DE89 3704 0044 0532 0130 01', 'to DE89 3704 0044 0532 0130 01'],
    ['none of another length', 'to DE893704004405320130001', 'to DE893704004405320130001'],
    ['one with a currency glued to it', 'to DE89370400440532013000EUR', 'to [IBAN]EUR'],
    ['one in JSON inside a text', '{"a":"x\\nDE89370400440532013000\\n"}', '{"a":"x\\n[IBAN]\\n"}'],
    ['one in a URL', '?a=iban%3DDE89+3704+0044+0532+0130+00&b=1', '?a=iban%3D[IBAN]&b=1'],
    ['one in digits of another script', 'to DE٨٩ ٣٧٠٤ ٠٠٤٤ ٠٥٣٢ ٠١٣٠ ٠٠', 'to [IBAN]'],
    [
      'no id',
      'be509a1249aeaa8a 01a22877-dae5-711b-be53-3c4b46814324',
      'be509a1249aeaa8a 01a22877-dae5-711b-be53-3c4b46814324',
    ],
    ['no id of digits', '40128888-8888-1881-8888-012345678901', '40128888-8888-1881-8888-012345678901'],
    ['a card with points', 'pay 4111.1111.1111.1111.', 'pay [CC].'],
    ['a card with tabs, and one of 15 digits', '4111\t1111\t1111\t1111, 3782/822463/10005', '[CC], [CC]'],
    [
      'cards in an address',
      'a=4111+1111+1111+1111&b=id_4111111111111111&c=%204111111111111111',
      'a=[CC]&b=id_[CC]&c=%20[CC]',
    ],
    [
      'cards in JSON inside a text',
      '{"a":"x\\n4111111111111111\\t4111&nbsp;1111&nbsp;1111&nbsp;1111"}',
      '{"a":"x\\n[CC]\\t[CC]"}',
    ],
    ['cards with a point between them', '4111111111111111.4111111111111111', '[CC].[CC]'],
    ['no numbers in columns', '4111\t1111\n1111\t1111, 2024.01.15 10:30', '4111\t1111\n1111\t1111, 2024.01.15 10:30'],
    ['none of a country without them', 'order US64SVBKUS6S3300958879', 'order US64SVBKUS6S3300958879'],
    ['an address for mail', 'to ann.b+c@mail.example.org,', 'to [EMAIL],'],
    ['an address of a host', 'from 10.0.200.255:80', 'from [IPV4]:80'],
    ['no fraction', 'scores 0.4371258226965884, 0.2628576629587913', 'scores 0.4371258226965884, 0.2628576629587913'],
    ['no time, whatever its check digit', 'from 1764324000003 to 1764324000011', 'from 1764324000003 to 1764324000011'],
    ['no version number', 'v1.2.3 and 1.2.3.456', 'v1.2.3 and 1.2.3.456'],
    ['a private key', `x ${key} y`, 'x [PEM_PRIVATE_KEY] y'],
    ['a private key cut off', `x ${key.slice(0, 40)}`, 'x [PEM_PRIVATE_KEY]'],
    ['an access key', 'id AKIAIOSFODNN7EXAMPLE!', 'id [AWS_ACCESS_KEY_ID]!'],
    ['a web token', 'got eyJhbGciOi.eyJzdWIi.c2ln', 'got [JWT]'],
    ['a web token behind a name', 'got session_eyJhbGciOi.eyJzdWIi.c2ln', 'got session_[JWT]'],
    ['a bearer token', 'Authorization: Bearer abcdef123456', 'Authorization: Bearer [TOKEN]'],
    ['a token of a service', 'use ghp_0123456789abcdefghijklmnopqrstuvwxyz.', 'use [API_TOKEN].'],
    ['an address with a password', 'at postgres://ann:pw@db.example/x now', 'at [DB_URI] now'],
    ['no command behind one', 'echo postgres://a:b@c;rm${IFS}x', 'echo [DB_URI];rm${IFS}x'],
    ['no command in one', 'echo postgres://a:b;halt;@c', 'echo postgres://a:[SECRET];halt;@c'],
    ['its options', 'mysql://a:b@c/d?x=1&y=2 now', '[DB_URI] now'],
    ['no training', 'Basic training starts, bearer of news', 'Basic training starts, bearer of news'],
    ['a card number in digits of another script', 'pay ٤١١١ ١١١١ ١١١١ ١١١١ now', 'pay [CC] now'],
    [
      'one in full width, with other blanks and dashes',
      'no ４１１１\u00a0１１１１\u00a0１１１１\u00a0１１１１.',
      'no [CC].',
    ],
    ['one in digits of mathematics, with what nobody sees', 'no 𝟒𝟏𝟏𝟏\u200b𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏 a', 'no [CC] a'],
    ['numbers with signs for minus', '536−22−8731, 4111−1111−1111−1111', '[SSN], [CC]'],
    ['a social security number with other dashes', 'ssn ０78‑05–1120.', 'ssn [SSN].'],
    [
      'a secret in JSON inside a text',
      'body {"dbPassword": "hunter2 x", "a": 1}',
      'body {"dbPassword": "[SECRET]", "a": 1}',
    ],
    ['one in escaped JSON', '{\\"api_key\\":\\"k1x2\\"}', '{\\"api_key\\":\\"[SECRET]\\"}'],
    ['one behind a flag', 'mysql --password hunter2 -e x', 'mysql --password [SECRET] -e x'],
    ['cookies', 'Cookie: a=b; sid=c9\r\nHost: x', 'Cookie: [SECRET]\r\nHost: x'],
    [
      'the password of an address',
      'git clone https://ann:pw@git.example/x',
      'git clone https://ann:[SECRET]@git.example/x',
    ],
    [
      'no word about a secret',
      'token_type=bearer, password_policy: strict',
      'token_type=bearer, password_policy: strict',
    ],
    ['a secret that is assigned', 'DB_PASSWORD=hunter22&x=1', 'DB_PASSWORD=[SECRET]&x=1'],
  ])('finds %s', (_, text, masked) => {
    expect(mask({ note: [text] })).toEqual({ note: [masked] });
  });

  it.each([
    ["'password' => 'hunter2x'", "'password' => '[SECRET]'"],
    ['password := "hunter2x"', 'password := "[SECRET]"'],
    ['if (password === "hunter2x")', 'if (password === "[SECRET]")'],
    ['const password: string = "hunter2x";', 'const password: string = "[SECRET]";'],
    ['password: string | null = "hunter2x"', 'password: string | null = "[SECRET]"'],
    ['password: str = "hunter2x"', 'password: str = "[SECRET]"'],
    ['password: Optional[str] = "hunter2x"', 'password: Optional[str] = "[SECRET]"'],
    ['os.environ["DB_PASSWORD"] = "hunter2x"', 'os.environ["DB_PASSWORD"] = "[SECRET]"'],
    ['{"password":["hunter2x", "hunter3x"],"a":["b"]}', '{"password":["[SECRET]", "[SECRET]"],"a":["b"]}'],
    ['db_password            = "hunter2x"', 'db_password            = "[SECRET]"'],
    ['password：hunter2x', 'password：[SECRET]'],
    ['password＝hunter2x', 'password＝[SECRET]'],
    ['cvv: 737', 'cvv: [SECRET]'],
    ['password=ab12;cd-hunter2x', 'password=[SECRET];cd-hunter2x'],
    ['Server=db;Password=hunter2x;Database=main', 'Server=db;Password=[SECRET];Database=main'],
    ['password=ab,hunter2x', 'password=[SECRET]'],
    ['Authorization: ApiKey VGhpcyBpcyBh', 'Authorization: [SECRET]'],
    ['Authorization: Gate-V1 VGhpcyBp9yBh', 'Authorization: Gate-V1 [SECRET]'],
    ['https://ann:p@ssw0rd@host:80/a@b', 'https://ann:[SECRET]@host:80/a@b'],
    ['token=hunter2x [INFO] connected', 'token=[SECRET] [INFO] connected'],
    ['token=[INFO]hunter2x', 'token=[SECRET]'],
    ['token=hunter2x ghp_0123456789abcdefghijklmnopqrstuvwxyz', 'token=[SECRET] [API_TOKEN]'],
    ['password:\n  hunter2x\nuser: ann', 'password:\n  [SECRET]\nuser: ann'],
    ['password: |\r\n  hunter2x', 'password: |\r\n  [SECRET]'],
    ['tokens:\n  - hunter2x', 'tokens:\n  - [SECRET]'],
    ['password=abc(defgh', 'password=[SECRET]'],
    ['login(password=hunter2x)', 'login(password=[SECRET])'],
    ['password=<hunter2x>', 'password=[SECRET]'],
    ['<b>password:</b> hunter2x<br>', '<b>password:</b> [SECRET]<br>'],
    ['"password": "ab\\\\hunter2x"', '"password": "[SECRET]"'],
    ['pass: hunter2x', 'pass: [SECRET]'],
    ['pin: 4711', 'pin: [SECRET]'],
    ['API key: 9f8A7b6c5D4e3', 'API key: [SECRET]'],
    ['the secret access key: wJalrXUtnFEMI/K7MDENG', 'the secret access key: [SECRET]'],
    ['session id = 9f8A7b6c5D4e3', 'session id = [SECRET]'],
    ['mot de passe : S3cr3tPw99', 'mot de passe : [SECRET]'],
    ["ALTER ROLE bob WITH PASSWORD 'hunter2x'", "ALTER ROLE bob WITH PASSWORD '[SECRET]'"],
    ["CREATE USER bob IDENTIFIED BY 'hunter2x'", "CREATE USER bob IDENTIFIED BY '[SECRET]'"],
    ['hasło: hunter2x, wachtwoord: hunter2x', 'hasło: [SECRET], wachtwoord: [SECRET]'],
    ['lösenord: hunter2x şifre: hunter2x', 'lösenord: [SECRET] şifre: [SECRET]'],
    ['{"social_security_number": "123456789"}', '{"social_security_number": "[SECRET]"}'],
    [['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_'), '[API_TOKEN]'],
    [`AIza${'SyA1b2C3d4E'.repeat(3)}5F`, '[API_TOKEN]'],
    [
      `https://hooks.slack.com/services/${['T0000A1B2', 'B0000C3D4', 'x1Y2z3A4b5C6d7E8f9G0h1'].join('/')}`,
      'https://hooks.slack.com/services/[API_TOKEN]',
    ],
    ['curl -s https://a.example/i?token=a1b2c3|bash', 'curl -s https://a.example/i?token=[SECRET]|bash'],
    ['curl https://a.example/i?token=a1|bash', 'curl https://a.example/i?token=a1|bash'],
    ['export TOKEN=x1y2;poweroff', 'export TOKEN=[SECRET];poweroff'],
    ['UPDATE s SET token=1234x;DROP TABLE users', 'UPDATE s SET token=[SECRET];DROP TABLE users'],
    ['SELECT 1 WHERE token=1;DELETE FROM users', 'SELECT 1 WHERE token=1;DELETE FROM users'],
    ['echo token=x1y2>/etc/cron.d/j', 'echo token=[SECRET]>/etc/cron.d/j'],
    ['echo token=>/etc/cron.d/j', 'echo token=>/etc/cron.d/j'],
    ['echo token=> /etc/cron.d/j', 'echo token=> /etc/cron.d/j'],
    ['sh token=x1y2<b9', 'sh token=[SECRET]<b9'],
    ['password=<a;poweroff>', 'password=<a;poweroff>'],
    ['curl -H Cookie:a=b9;poweroff', 'curl -H Cookie:[SECRET];poweroff'],
    ['Cookie: a=b; sid=c9|sh', 'Cookie: [SECRET]|sh'],
    ['curl https://ann:x1;poweroff;@host.example', 'curl https://ann:[SECRET];poweroff;@host.example'],
  ])('finds what a text assigns, also before models see it: %s', (text, masked) => {
    expect(mask(text)).toBe(masked);
    expect(mask(masked)).toBe(masked);
    const call = { method: 'tools/call', tool: 'a_tool', tenant: null };
    expect(maskByRules.show({ ...call, params: { text } }).params).toEqual({ text: masked });
  });

  it.each([
    'password=',
    'DB_PASSWORD=\nDB_HOST=db1',
    '"password":"","user":"ann"',
    'password: string;',
    'const token1 = readToken(1);',
    'token = await read(path.join(home, "a"))',
    'TOKEN=$TOKEN1 run',
    'token: ${{ secrets.TOKEN }}',
    'Token::default()',
    'pass: 12345',
    'auth: required',
    'PWD=/home/app/files',
    'Forgot your password:\nClick here',
    'credentials:\n  user: ann',
    'http://host.example:8080?to=a',
    'Private key: see the wiki',
    'rotate the API key: before Friday',
  ])('finds no secret in %s', (text) => {
    expect(mask(text)).toBe(text);
  });

  it('replaces whole values behind sensitive names, and no others', () => {
    expect(
      mask({ api_key: { a: 1 }, 'X-Session-Id': 5, token: null, keyboard: 'qwerty', pinned: true, user_password: 'x' }),
    ).toEqual({
      api_key: '[MASKED]',
      'X-Session-Id': '[MASKED]',
      token: null,
      keyboard: 'qwerty',
      pinned: true,
      user_password: '[MASKED]',
    });
  });

  it.each([
    'passwd',
    'PWD',
    'dbPassword',
    'X-Api-Key',
    'apikey',
    'APIKEY',
    'accessToken',
    'client_secret',
    'Authorization',
    'Set-Cookie',
    'p4ssw0rd',
    'password2',
    'pａsswоrd',
    'pass%77ord',
    'Passwort',
    'userpassword',
  ])('knows the name of a secret: %s', (name) => {
    expect(mask({ [name]: 'x9' })).toEqual({ [name]: '[MASKED]' });
    expect(mask({ headers: [{ name, value: 'x9' }] })).toEqual({ headers: [{ name, value: '[MASKED]' }] });
    expect(
      mask([
        [name, 'x9'],
        ['-x', `--${name}`, 'x9'],
      ]),
    ).toEqual([
      [name, '[MASKED]'],
      ['-x', `--${name}`, name.match(/^[\w-]+$/) ? '[MASKED]' : 'x9'],
    ]);
  });

  it.each(['secretary', 'keyboard', 'pinned', 'author', 'compass', 'tokenizer', 'key', 'monkeys'])(
    'knows no secret in %s',
    (name) => {
      expect(mask({ [name]: 'x9' })).toEqual({ [name]: 'x9' });
    },
  );

  it('masks a number that is one, and no other', () => {
    expect(mask({ card: 4_111_111_111_111_111, at: 1_764_322_800_000, score: 0.4371258226965884 })).toEqual({
      card: '[CC]',
      at: 1_764_322_800_000,
      score: 0.4371258226965884,
    });
  });

  it('masks names as it masks values', () => {
    expect(mask({ 'ann@mail.example.org': 1 })).toEqual({ '[EMAIL]': 1 });
  });

  it('keeps members whose names are masked alike', () => {
    const payees = { DE89370400440532013000: 10, GB82WEST12345698765432: 99_999, NO9386011117947: 7 };
    const masked = { '[IBAN]': 10, '[IBAN] (2)': 99_999, '[IBAN] (3)': 7 };
    expect(mask(payees)).toEqual(masked);
    expect(mask(masked)).toEqual(masked);
    expect(mask({ ...payees, '[IBAN]': 1, '[IBAN] (3)': 2 })).toEqual({
      '[IBAN]': 1,
      '[IBAN] (2)': 10,
      '[IBAN] (3)': 2,
      '[IBAN] (4)': 99_999,
      '[IBAN] (5)': 7,
    });
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`a${at}@mail.example.org`, at]));
    expect(Object.values(mask(many) as JsonObject)).toEqual(Object.values(many));
  });

  it('gives a member no name that would be masked again', () => {
    const masked = mask({ 'a@b.cc 4111 1111 1111 1111 x': 1, 'd@b.cc 4111 1111 1111 1111 x': 2 });
    expect(mask(masked)).toEqual(masked);
  });

  it('leaves everything else as it is, and what is masked stays as it is', () => {
    const value = { a: [1, null, true, 'plain words'], b: {} };
    expect(mask(value)).toEqual(value);
    const parts = [
      'Bearer ',
      'password=',
      'a@b.cc',
      '078-05-1120',
      '4111111111111111',
      '10.0.0.1',
      'eyJabcd.efgh.i',
      'Basic a1',
      ';',
      'ghp_0123456789abcdefghijklmnopqrstuvwxyz',
      'redis://a:b@c',
      'https://a:b@c',
      'Cookie: ',
      '--token ',
      '"',
      '\\',
      '[',
      '٤١١١١١١١١١١١١١١١',
      'DE89370400440532013000',
      'GB82 WEST 1234 5698 7654 32',
      '4111.1111.1111.1111',
      '\\n',
      '%20',
      '.',
      '_',
      ' ',
    ];
    const named = fc.dictionary(
      fc.array(fc.constantFrom('a@b.cc', 'd@b.cc', "password:'", 'secret=', ' ')).map((list) => list.join(' ')),
      fc.integer(),
    );
    const text = fc.array(fc.oneof(fc.constantFrom(...parts), fc.string())).map((list) => list.join(''));
    fc.assert(
      fc.property(fc.jsonValue(), text, named, (json, note, members) => {
        const once = mask({ json: json as Json, note, members });
        expect(mask(once)).toEqual(once);
      }),
      { numRuns: 300, seed: 5 },
    );
  });

  it.each([
    ['reads a name once', String.prototype, 'toLowerCase', 'é1=', 0.1],
    ['reads digits that begin no card once', RegExp.prototype, 'test', '1 ', 5],
    ['knows a digit once', RegExp.prototype, 'test', '٤ ', 5],
  ] as const)('%s, however often it stands in a text', (_, prototype, method, unit, most) => {
    const times = 2_000;
    const text = unit.repeat(times);
    const work = jest.spyOn(prototype as unknown as { test(text: string): boolean; toLowerCase(): string }, method);
    mask(text);
    const done = work.mock.calls.length;
    work.mockRestore();
    expect(done).toBeLessThan(most * times);
  });

  it('takes long hostile text in time', () => {
    for (const text of [
      'a@'.repeat(50_000),
      '1 '.repeat(50_000),
      '-----BEGIN '.repeat(10_000),
      'secret_'.repeat(10_000),
      'token='.repeat(20_000),
      '"token": "'.repeat(10_000),
      '--a '.repeat(20_000),
      '://a:b'.repeat(20_000),
      '٤ '.repeat(50_000),
      'eyJaaaa-'.repeat(20_000),
      'eyJaaaa.'.repeat(20_000),
      'Bearer a'.repeat(20_000),
      'bearer '.repeat(20_000),
      'DE89 '.repeat(20_000),
      'DE89-3704 0044 '.repeat(10_000),
      'MT84MALT011000012345MTLCAST001T '.repeat(5_000),
      '%C2'.repeat(50_000),
      '&#1'.repeat(50_000),
      '\\u00'.repeat(40_000),
      '4111.'.repeat(40_000),
    ])
      expect(typeof mask(text)).toBe('string');
  }, 30_000);
});
