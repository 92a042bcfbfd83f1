import type { InspectedTexts } from './texts.js';

/**
 * Orders to a model in languages other than English. A sentence is recognised by a chain of stems, each close after the one before. The
 * grammar of the language decides which part comes first: the verb in most, the object in Japanese, Korean, Hindi and Turkish.
 */
interface Chain {
  readonly name: string;
  /** The parts that follow the first stem, in order. */
  readonly parts: readonly (readonly string[])[];
  /** Most characters between two parts. */
  readonly gap: number;
}

type Order = 'override_instructions' | 'reveal_prompt' | 'you_are_now' | 'send_secrets';
type Rows = readonly (readonly [Order, number, ...string[]])[];

/** Languages in Latin letters, in plain form and so without marks ("instrucoes"). Each stem must start a word. */
const LATIN: Rows = [
  // Spanish
  [
    'override_instructions',
    16,
    'ignora|ignore|olvida|olvide|omite|descarta|no sigas|no hagas caso|haz caso omiso|pasa por alto|desobedece',
    'instrucciones|ordenes|reglas|directrices|indicaciones|restricciones',
    'anteriores|previas|de arriba|iniciales|recibidas|del sistema|que te |que recibiste',
  ],
  [
    'override_instructions',
    16,
    'ignora|ignore|olvida|olvide|omite|no sigas|desobedece',
    'todas |tus ',
    'instrucciones|ordenes|reglas|directrices|restricciones',
  ],
  [
    'reveal_prompt',
    16,
    'revela|muestra|muestrame|imprime|dime|repite|divulga|ensename',
    'prompt del sistema|prompt de sistema|instrucciones del sistema|instrucciones ocultas|instrucciones internas|instrucciones secretas|tu prompt|instrucciones iniciales|system prompt',
  ],
  [
    'you_are_now',
    30,
    'ahora eres|a partir de ahora eres|desde ahora eres|a partir de ahora actua',
    'sin restric|sin limit|hacker|dan |malvad|libre de reglas|una ia |otro modelo|sin filtro|sin reglas',
  ],
  [
    'send_secrets',
    16,
    'envia|enviame|manda |mandame|sube |reenvia',
    'contrasenas|claves|secretos|tokens|credenciales',
    'a |al |http',
  ],
  [
    'override_instructions',
    16,
    'no hagas caso|no hagais caso|haz caso omiso|ignora|olvida',
    'lo que se te|lo que te',
    'dijo antes|dijo anteriormente|dijo hasta ahora|dijeron antes|dijeron anteriormente|dijeron hasta ahora|han dicho antes|han dicho hasta ahora|ha dicho antes|ha dicho hasta ahora|indicaron antes|indico antes|ordenaron|ordeno',
  ],
  [
    'override_instructions',
    16,
    'no hagas caso|no hagais caso|haz caso omiso|ignora|olvida',
    'todo lo que se te|todo lo que te',
    'dijo|dijeron|han dicho|ha dicho|indicaron|indico',
  ],
  // Portuguese
  [
    'override_instructions',
    16,
    'ignore|ignora|esqueca|desconsidere|desobedeca|nao siga|descarte',
    'instrucoes|ordens|regras|diretrizes|comandos|restricoes',
    'anteriores|previas|acima|do sistema|que recebeu|iniciais',
  ],
  [
    'override_instructions',
    16,
    'ignore|esqueca|desconsidere|desobedeca|nao siga',
    'todas |suas |todos ',
    'instrucoes|ordens|regras|diretrizes|restricoes',
  ],
  [
    'reveal_prompt',
    16,
    'revele|mostre|exiba|imprima|diga|repita|divulgue',
    'prompt do sistema|prompt de sistema|instrucoes do sistema|seu prompt|instrucoes ocultas|instrucoes internas|instrucoes secretas|system prompt',
  ],
  [
    'you_are_now',
    30,
    'agora voce e|voce agora e|a partir de agora voce|voce e agora',
    'sem restric|sem limit|hacker|dan |malign|livre de regras|uma ia |sem filtro|sem regras',
  ],
  ['send_secrets', 16, 'envie|mande|transfira|encaminhe', 'senhas|segredos|tokens|credenciais|chaves', 'para |http'],
  // French
  [
    'override_instructions',
    18,
    'ignore|ignorez|oublie|oubliez|ne tiens pas compte|ne tenez pas compte|fais abstraction|faites abstraction|ne suis pas|ne respecte pas|passe outre|contourne',
    'instructions|consignes|directives|regles|ordres|restrictions',
    'precedent|anterieur|ci dessus|donnees|systeme|recues|initiales',
  ],
  [
    'override_instructions',
    14,
    'ignore|ignorez|oublie|oubliez|contourne',
    'toutes |tes ',
    'instructions|consignes|directives|regles|restrictions',
  ],
  [
    'reveal_prompt',
    16,
    'revele|revelez|affiche|affichez|montre|montrez|imprime|dis moi|repete|divulgue|donne moi',
    'prompt systeme|invite systeme|instructions systeme|instructions cachees|instructions internes|instructions secretes|ton prompt|votre prompt|tes instructions|system prompt',
  ],
  [
    'you_are_now',
    30,
    'tu es maintenant|vous etes maintenant|desormais tu es|a partir de maintenant tu es|maintenant tu es|tu es desormais',
    'sans restric|sans limit|hacker|pirate|dan |malveillant|libre de toute|une ia |sans filtre|sans regles',
  ],
  [
    'send_secrets',
    16,
    'envoie|envoyez|transmets|transfere|expedie',
    'mots de passe|secrets|jetons|identifiants|cles ',
    'a |vers |http',
  ],
  // German
  [
    'override_instructions',
    24,
    'ignoriere|ignorieren sie|vergiss|vergessen sie|missachte|ubergehe|umgehe|befolge nicht|beachte nicht|halte dich nicht',
    'alle |allen |deine|samtliche|jegliche|vorherigen|bisherigen|obigen|fruheren|vorigen',
    'anweisungen|instruktionen|befehle|regeln|vorgaben|richtlinien|einschrankungen',
  ],
  [
    'override_instructions',
    24,
    'lass |lasse |lassen sie',
    'alles vorherige|alles bisherige|alles obige|alles vorige|alles zuvor|alles davor',
    'ausser acht|au er acht|beiseite|unbeachtet',
  ],
  [
    'reveal_prompt',
    16,
    'zeige|zeig |verrate|nenne|gib |offenbare|drucke|wiederhole|enthulle|teile',
    'systemprompt|system prompt|systemanweisung|deinen prompt|deine anweisungen|deine internen|deine geheimen|deine versteckten|deine instruktionen',
  ],
  [
    'you_are_now',
    30,
    'du bist jetzt|du bist nun|ab jetzt bist du|ab sofort bist du|von nun an bist du|jetzt bist du',
    'ohne einschrank|uneingeschrankt|unbeschrankt|hacker|dan |bose|frei von|ohne regeln|eine ki |ohne filter',
  ],
  [
    'send_secrets',
    16,
    'sende|schicke|schick |ubermittle',
    'passworter|zugangsdaten|geheimnisse|tokens|kennworter',
    'an |nach |http',
  ],
  // Italian
  [
    'override_instructions',
    16,
    'ignora|ignorate|dimentica|dimenticate|trascura|non seguire|scarta|aggira',
    'istruzioni|regole|direttive|ordini|comandi|restrizioni',
    'precedenti|di sopra|ricevute|iniziali|del sistema',
  ],
  [
    'override_instructions',
    14,
    'ignora|ignorate|dimentica|dimenticate|aggira',
    'tutte |tue ',
    'istruzioni|regole|direttive|restrizioni',
  ],
  [
    'reveal_prompt',
    16,
    'rivela|mostra|mostrami|stampa|dimmi|ripeti|svela',
    'prompt di sistema|prompt del sistema|istruzioni di sistema|tuo prompt|istruzioni nascoste|istruzioni interne|istruzioni segrete|tue istruzioni|system prompt',
  ],
  [
    'you_are_now',
    30,
    'ora sei|adesso sei|da ora in poi sei|sei ora|da adesso sei',
    'senza restriz|senza limit|hacker|dan |malvagi|libero da|una ia |senza filtr|senza regole',
  ],
  [
    'send_secrets',
    16,
    'invia|manda |spedisci|trasmetti',
    'le password|segreti|i token|credenziali|chiavi',
    'a |all |http',
  ],
  // Turkish
  [
    'override_instructions',
    18,
    'onceki|yukaridaki|tum |butun|daha onceki|verilen|sistem',
    'talimat|komut|yonerge|kural|direktif',
    'yok say|gormezden gel|unut|dikkate alma|uyma|goz ardi et|bosver',
  ],
  [
    'reveal_prompt',
    24,
    'sistem istem|sistem prompt|sistem talimat|gizli talimat|sistem komut|kendi talimat',
    'goster|acikla|yazdir|paylas|ifsa et|soyle|tekrarla',
  ],
  [
    'you_are_now',
    30,
    'artik sen|sen artik|bundan sonra sen|simdi sen|sen simdi',
    'sinirsiz|kisitlamasiz|dan |hacker|kotu niyetli|kuralsiz|ozgur',
  ],
  ['send_secrets', 40, 'sifreleri|parolalari|anahtarlari|tokenlari|kimlik bilgilerini', 'gonder|yukle|ilet'],
  // Polish
  [
    'override_instructions',
    20,
    'zignoruj|ignoruj|zapomnij|pomin|odrzuc|nie stosuj sie|nie przestrzegaj|lekcewaz|zlekcewaz',
    'wszystkie|wszystkich|wszelkie|poprzedni|wczesniejsz|powyzsz|swoje|twoje|systemow|dotychczasow',
    'instrukcj|polece|wytyczn|zasad|regul|prompt|ogranicze',
  ],
  [
    'reveal_prompt',
    16,
    'ujawnij|pokaz|wypisz|wyswietl|powtorz|podaj|zdradz',
    'prompt system|swoj prompt|twoj prompt|instrukcje systemow|ukryte instrukcj|tajne instrukcj|systemowy prompt|swoje instrukcje',
  ],
  [
    'you_are_now',
    30,
    'jestes teraz|teraz jestes|od teraz jestes',
    'bez ogranicz|nieograniczon|dan |hakerem|zlym|wolny od|bez zasad|bez filtr',
  ],
  [
    'send_secrets',
    20,
    'wyslij|przeslij|przekaz',
    'hasla|tokeny|klucze|sekrety|dane uwierzyteln|dane logowania',
    'na |do |http',
  ],
  // Indonesian
  [
    'override_instructions',
    16,
    'abaikan|lupakan|jangan ikuti|hiraukan|kesampingkan|jangan patuhi',
    'semua|seluruh|segala',
    'instruksi|perintah|aturan|arahan|prompt|batasan|pedoman',
  ],
  [
    'override_instructions',
    16,
    'abaikan|lupakan|jangan ikuti|hiraukan|kesampingkan',
    'instruksi|perintah|aturan|arahan|prompt|batasan',
    'sebelumnya|di atas|kamu|anda',
  ],
  [
    'reveal_prompt',
    24,
    'tampilkan|ungkapkan|tunjukkan|beritahu|bocorkan|cetak|ulangi',
    'prompt sistem|sistem prompt|system prompt|instruksi sistem|instruksi rahasia|instruksi tersembunyi|prompt kamu|prompt anda|promptmu',
  ],
  [
    'you_are_now',
    30,
    'kamu sekarang|anda sekarang|sekarang kamu|sekarang anda|mulai sekarang kamu',
    'tanpa batas|tanpa aturan|peretas|hacker|jahat|bebas dari',
  ],
  ['send_secrets', 16, 'kirim|kirimkan|unggah', 'semua', 'kata sandi|password|kunci api|token|kredensial|rahasia'],
  // Vietnamese
  [
    'override_instructions',
    16,
    'bo qua|phot lo|quen |quen di|khong tuan theo|dung tuan theo',
    'tat ca|moi |cac |toan bo|nhung ',
    'huong dan|chi dan|lenh|quy tac|chi thi|loi nhac|gioi han',
    'truoc|o tren|cua ban|ben tren|he thong',
  ],
  [
    'reveal_prompt',
    20,
    'tiet lo|hien thi|cho toi xem|in ra|cho biet|xuat ra|lap lai',
    'loi nhac he thong|prompt he thong|huong dan he thong|chi dan he thong|system prompt|loi nhac cua ban|prompt cua ban',
  ],
  [
    'you_are_now',
    30,
    'bay gio ban la|tu bay gio ban la|gio ban la|ban bay gio la',
    'khong gioi han|khong bi gioi han|hacker|khong co quy tac|tin tac|doc ac',
  ],
  [
    'send_secrets',
    16,
    'gui ',
    'tat ca|moi |toan bo|cac ',
    'mat khau|khoa api|token|thong tin dang nhap',
    'den |toi |cho |http',
  ],
];

/** Languages in other alphabets with spaces between words. Each stem must start a word. */
const CYRILLIC: Rows = [
  // Russian
  [
    'override_instructions',
    20,
    'игнорир|проигнорир|забудь|забудьте|отмени|отбрось|не обращай внимания|не обращайте внимания|не следуй|не следуйте|не выполняй|не выполняйте|обойди|перестань следовать|пренебреги|нарушь',
    'все |всем |всех |любые|предыдущ|прошл|прежн|вышеуказанн|вышеизложенн|ранее|тво|ваши|систем|исходн|изначальн',
    'инструкци|указани|команд|правил|промпт|промт|распоряжени|директив|ограничени|запрет',
  ],
  [
    'override_instructions',
    20,
    'игнорир|проигнорир|забудь|забудьте|отбрось|не следуй',
    'инструкци|указани|команд|правил|промпт',
    'данные тебе|данные выше|выше|до этого|которые тебе',
  ],
  [
    'reveal_prompt',
    16,
    'покажи|раскрой|выведи|напечатай|повтори|сообщи|назови|расскажи|выдай|перескажи',
    'сво|тво|ваш|систем|скрыт|секретн|полн',
    'промпт|промт|систем',
  ],
  [
    'reveal_prompt',
    16,
    'покажи|раскрой|выведи|напечатай|повтори|сообщи|назови|расскажи|выдай',
    'системн|скрыт|секретн|внутренн|изначальн',
    'инструкци|указани|промпт|промт|подсказк',
  ],
  [
    'you_are_now',
    30,
    'ты теперь|теперь ты|отныне ты|с этого момента ты|вы теперь|теперь вы',
    'не ограничен|без ограничен|неограниченн|дан |злой|злая|хакер|свободн|без правил|без цензуры|без фильтр|взломан',
  ],
  [
    'send_secrets',
    24,
    'отправь|отправьте|пришли|перешли|скинь|передай|вышли',
    'пароли|все пароли|секреты|токены|ключи|учетные данные|закрытый ключ',
    'на |по адресу|мне |нттр',
  ],
  // Ukrainian
  [
    'override_instructions',
    20,
    'ігнору|проігнору|забудь|забудьте|не звертай уваги|не звертайте уваги|не дотримуйся|не виконуй|відкинь|обійди|знехтуй',
    'усі |всі |всіх |попередн|минул|тво|ваші|наведені вище|систем|будь які',
    'інструкці|вказівк|команд|правил|промпт|обмежен|наказ',
  ],
  [
    'reveal_prompt',
    16,
    'покажи|розкрий|виведи|повтори|повідом|розкажи|надрукуй',
    'свій|свої|твій|твої|ваш|систем|прихован|секретн',
    'промпт|системн|інструкці',
  ],
  ['you_are_now', 30, 'тепер ти|відтепер ти|ти тепер', 'без обмежен|необмежен|злий|хакер|вільн|без правил|зламан'],
  [
    'send_secrets',
    24,
    'надішли|відправ|перешли|передай',
    'паролі|всі паролі|секрети|токени|ключі|облікові дані',
    'на |мені ',
  ],
];

const DEVANAGARI: Rows = [
  [
    'override_instructions',
    18,
    'पिछले|पिछली|पहले के|पहले की|उपरोक्त|ऊपर के|ऊपर दिए|सभी|सारे|अपने|पूर्व',
    'निर्देश|आदेश|नियम|प्रॉम्प्ट|हिदायत',
    'अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा|उपेक्षा|न मान|मत मान|पालन न|पालन मत|इग्नोर',
  ],
  [
    'reveal_prompt',
    16,
    'सिस्टम प्रॉम्प्ट|सिस्टम प्रोम्प्ट|अपना प्रॉम्प्ट|अपना सिस्टम|गुप्त निर्देश|छिपे निर्देश|छिपे हुए निर्देश|सिस्टम निर्देश',
    'दिखा|बता|प्रकट|प्रिंट|उजागर|साझा|दोहरा',
  ],
  [
    'you_are_now',
    24,
    'अब तुम|अब आप|अब से तुम|अब से आप|तुम अब|आप अब',
    'बिना किसी प्रतिबंध|प्रतिबंध के बिना|हैकर|असीमित|बिना सीमा|दुष्ट|बिना नियम|बिना रोक|बिना किसी नियम',
  ],
  ['send_secrets', 30, 'सभी |सारे ', 'पासवर्ड|गुप्त कुंजी|टोकन|एपीआई कुंजी|क्रेडेंशियल', 'भेज|अपलोड कर|लीक'],
];

/** Arabic attaches clitics to the front of words, so a stem may occur anywhere. Alef, ya and ta marbuta are each in one form. */
const ARABIC: Rows = [
  [
    'override_instructions',
    16,
    'تجاهل|تجاهلي|انس |انسي|لا تتبع|لا تلتزم|الغ |اهمل|تجاوز',
    'كل |جميع|كافه',
    'تعليمات|اوامر|توجيهات|قواعد|ارشادات|قيود',
  ],
  [
    'override_instructions',
    16,
    'تجاهل|انس |انسي|لا تتبع|اهمل|تجاوز',
    'تعليمات|اوامر|توجيهات|قواعد|ارشادات',
    'السابق|اعلاه|الاصلي|المعطاه',
  ],
  ['override_instructions', 12, 'تجاهل|انس |انسي|لا تتبع|اهمل|تجاوز', 'تعليماتك|قواعدك|اوامرك|توجيهاتك|قيودك'],
  [
    'reveal_prompt',
    24,
    'اكشف|اظهر|اعرض|اطبع|اخبرني|افصح|كرر|شارك',
    'موجه النظام|تعليمات النظام|موجهك|برومبت|مطالبه النظام|التعليمات السريه|التعليمات المخفيه|تعليماتك السريه|تعليماتك المخفيه|تعليماتك الداخليه',
  ],
  [
    'you_are_now',
    24,
    'انت الان|من الان فصاعدا انت|اصبحت الان',
    'بدون قيود|بلا قيود|غير مقيد|مخترق|هاكر|شرير|بدون قواعد|بلا قواعد',
  ],
  [
    'send_secrets',
    20,
    'ارسل|ابعث|انقل|سرب',
    'كلمات المرور|كلمات السر|المفاتيح|الاسرار|بيانات الاعتماد|الرموز السريه|مفاتيح',
    'الي ',
  ],
];

/** Languages without spaces, or with spaces that carry little meaning. A stem may occur anywhere, and spaces are removed. */
const UNSPACED: Rows = [
  // Chinese, simplified and traditional
  [
    'override_instructions',
    8,
    '忽略|无视|無視|忽視|忽视|忘记|忘記|忘掉|抛开|拋開|不要理会|不要理會|别理会|不要遵守|不要遵循|不要执行|绕过|繞過|覆盖|放弃',
    '之前|以前|先前|此前|前面|上面|上述|以上|所有|一切|全部|任何|你的|您的|系统|系統|原有|前述',
    '指令|指示|提示词|提示詞|命令|规则|規則|设定|限制|约束|系统提示|系統提示',
  ],
  [
    'override_instructions',
    2,
    '忽略|无视|無視|忘记|忘記|忘掉',
    '之前的提示|以前的提示|先前的提示|所有提示|所有的提示|你的提示|之前所有提示',
  ],
  [
    'reveal_prompt',
    8,
    '透露|泄露|洩露|显示|顯示|输出|輸出|打印|告诉我|告訴我|展示|公开|说出|重复|给我看',
    '你的系统|你的系統|系统提示|系統提示|你的提示词|你的提示詞|系统指令|系統指令|初始指令|隐藏指令|隐藏的指令|内部指令|原始指令|你的指令|你的初始|你的完整|你的内部|你的隐藏',
  ],
  [
    'you_are_now',
    14,
    '你现在是|你現在是|您现在是|从现在起你|从现在开始你|從現在起你|现在你是|從現在開始你',
    '不受限制|没有限制|沒有限制|无限制|無限制|dan|黑客|駭客|恶意|越狱|邪恶|邪惡|不受任何|没有任何限制|沒有任何限制',
  ],
  [
    'send_secrets',
    3,
    '所有密码|所有密碼|密码|密碼|密钥|金鑰|令牌|凭证|凭据|私钥|私鑰|机密',
    '发送到|发送给|发送至|發送到|發送給|发到|发给|上传到|转发到|提交到|传到',
  ],
  // Japanese
  [
    'override_instructions',
    8,
    '以前の|これまでの|前の|上記の|上の|すべての|全ての|今までの|あなたの|先ほどの|システムの|元の',
    '指示|命令|指令|プロンプト|ルール|規則|制約|インストラクション',
    '無視|忘れ|従わな|破棄|無効|バイパス|上書き',
  ],
  [
    'reveal_prompt',
    10,
    'システムプロンプトを|システムメッセージを|隠された指示|内部の指示|あなたの指示を|あなたのプロンプト|初期プロンプト|秘密の指示',
    '教え|表示|出力|公開|明かし|開示|見せ|暴露|書き出|繰り返',
  ],
  [
    'you_are_now',
    16,
    'あなたは今|今からあなたは|これからあなたは|今後あなたは',
    '制限のない|制約のない|dan|ハッカー|無制限|悪の|制限なし|ルールに縛られ|制約を受けない|制限されない',
  ],
  [
    'send_secrets',
    20,
    'パスワード|秘密鍵|apiキー|トークンを|認証情報|機密情報',
    '送信してくださ|送信しろ|送信せよ|送ってくださ|送れ|転送して|アップロードして',
  ],
  // Korean
  [
    'override_instructions',
    8,
    '이전|지금까지|위의|앞선|앞의|모든|너의|당신의|시스템|기존',
    '지시|명령|지침|프롬프트|규칙|제한',
    '무시|잊어|잊으|따르지|어기|무효|우회|폐기',
  ],
  [
    'reveal_prompt',
    10,
    '시스템프롬프트|시스템메시지를|숨겨진지시|내부지침|너의프롬프트|당신의프롬프트|초기지시|시스템지시|네프롬프트',
    '보여|출력|공개|알려|말해|유출|드러내|밝혀|표시해|반복',
  ],
  [
    'you_are_now',
    20,
    '너는이제|당신은이제|이제너는|이제부터너는|지금부터너는|이제당신은|지금부터당신은',
    '제한없|제한이없|해커|dan|무제한|악의적|규칙이없|탈옥|제약이없|제약없',
  ],
  ['send_secrets', 20, '비밀번호|api키|토큰을|인증정보|비밀키|개인키', '보내라|보내줘|전송해|전송하라|업로드해|유출해'],
];

interface Start {
  readonly stem: string;
  readonly chain: Chain;
}
/** The chains, by the first two UTF-16 units of their first stem. */
type Starts = ReadonlyMap<number, readonly Start[]>;

const pair = (text: string, at: number): number => text.charCodeAt(at) * 0x10000 + (text.charCodeAt(at + 1) || 0);

function startsOf(rows: Rows, written: (stem: string) => string = (stem) => stem): Starts {
  const starts = new Map<number, Start[]>();
  for (const [name, gap, ...parts] of rows) {
    const [first = [], ...rest] = parts.map((part) => part.split('|').map(written));
    const chain: Chain = { name, gap, parts: rest };
    for (const stem of first) starts.set(pair(stem, 0), [...(starts.get(pair(stem, 0)) ?? []), { stem, chain }]);
  }
  return starts;
}

/** Longer than any stem. */
const LONGEST_STEM = 40;

function completes(view: string, from: number, { gap, parts }: Chain, wordwise: boolean, index = 0): boolean {
  const part = parts[index];
  if (part === undefined) return true;
  const window = view.slice(from, from + gap + LONGEST_STEM);
  return part.some((stem) => {
    const at = wordwise ? window.indexOf(` ${stem}`) : window.indexOf(stem);
    if (at < 0 || at > gap) return false;
    // The space after a stem also starts the next one.
    const end = from + at + stem.length + (wordwise ? 1 : 0) - (stem.endsWith(' ') ? 1 : 0);
    return completes(view, end, { name: '', gap, parts }, wordwise, index + 1);
  });
}

/**
 * One pass over the view. At each position (or start of a word) it tries the chains that may start there. Linear, because the text checked
 * after a stem is limited.
 */
function look(view: string, starts: Starts, wordwise: boolean, into: Set<string>): void {
  for (let at = wordwise ? 1 : 0; at < view.length; at += 1) {
    if (wordwise && view.charCodeAt(at - 1) !== 0x20) continue;
    for (const { stem, chain } of starts.get(pair(view, at)) ?? []) {
      if (into.has(chain.name) || !view.startsWith(stem, at)) continue;
      if (completes(view, at + stem.length - (stem.endsWith(' ') ? 1 : 0), chain, wordwise)) into.add(chain.name);
    }
  }
}

/** Latin letters that look like Cyrillic ones, for texts that mix both. */
const LIKE_CYRILLIC: Readonly<Record<string, string>> = {
  a: 'а',
  c: 'с',
  e: 'е',
  o: 'о',
  p: 'р',
  x: 'х',
  y: 'у',
  k: 'к',
  m: 'м',
  t: 'т',
  h: 'н',
  b: 'в',
  i: 'і',
  ё: 'е',
};
const cyrillic = (text: string): string =>
  text.replaceAll(/[acepoxykmthbiё]/g, (letter) => LIKE_CYRILLIC[letter] ?? letter);
const ARABIC_FORMS: Readonly<Record<string, string>> = {
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
  ٱ: 'ا',
  ى: 'ي',
  ة: 'ه',
  ی: 'ي',
  ک: 'ك',
};
const arabic = (text: string): string =>
  text
    .replaceAll(/[\u064b-\u065f\u0670\u0640]/g, '')
    .replaceAll(/[أإآٱىةیک]/g, (letter) => ARABIC_FORMS[letter] ?? letter);
const composedForm = (text: string): string => text.normalize('NFKC');

const ALPHABETS: readonly { script: RegExp; starts: Starts; read: (text: string) => string; wordwise: boolean }[] = [
  { script: /[\u0400-\u052f]/, starts: startsOf(CYRILLIC, cyrillic), read: cyrillic, wordwise: true },
  { script: /[\u0900-\u097f]/, starts: startsOf(DEVANAGARI, composedForm), read: composedForm, wordwise: true },
  { script: /[\u0600-\u06ff]/, starts: startsOf(ARABIC, arabic), read: arabic, wordwise: false },
  {
    script: /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/,
    starts: startsOf(UNSPACED, composedForm),
    read: (text) => text.replaceAll(' ', ''),
    wordwise: false,
  },
];
const LATIN_STARTS = startsOf(LATIN);

const NOT_ASCII = /[^\0-\x7f]/;

/** Lower case, without compatibility forms and invisible characters; everything but letters, marks and digits becomes one space. */
const native = (texts: readonly string[]): string =>
  ` ${texts
    .join(' ')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}\u0300-\u036f]/gu, '')
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')} `;

/** The names of the orders found in a dozen other languages, such as Russian, Chinese and Arabic. */
export function ordersInOtherLanguages({ texts, words }: Pick<InspectedTexts, 'texts' | 'words'>): ReadonlySet<string> {
  const found = new Set<string>();
  look(words, LATIN_STARTS, true, found);
  const foreign = texts.flatMap(({ text }) => (NOT_ASCII.test(text) ? [text] : []));
  if (foreign.length === 0) return found;
  const view = native(foreign);
  for (const { script, starts, read, wordwise } of ALPHABETS)
    if (script.test(view)) look(read(view), starts, wordwise, found);
  return found;
}
