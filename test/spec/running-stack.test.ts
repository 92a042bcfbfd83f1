// What is told of the whole product with its default settings, of one start: a start costs more than most of these parts.
import './running-stack/tokens.js';
import './running-stack/proxy.js';
import './running-stack/receipts.js';
import './running-stack/uncertain.js';
import './running-stack/mining.js';
import './running-stack/tools.js';
import './running-stack/containment.js';
import './running-stack/chats.js';
import './running-stack/documents.js';
// The last one, because it asks for everything with everything.
import './running-stack/fuzzer.js';
