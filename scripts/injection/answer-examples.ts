import { sha256Hex } from '../../domain/crypto/digest.js';
import { chosen, list, ownExamples } from './examples.js';

/** What is learned for answers of tools alone, in the project's own words: requests to a model, and what tools answer without any. */
interface AnswerExamples {
  readonly requests: readonly string[];
  readonly documents: readonly string[];
}

/** Changes with every example that answers are learned from: those of messages, where a request is an order here, and those above. */
export const answerExamplesDigest = async (): Promise<string> =>
  sha256Hex(JSON.stringify([await ownExamples(), answerExamples()]));

const ASKED_OF = list(
  'What is the difference between a city and|How does one learn about|Why do people like|What should I know before buying|Who invented|What are some good alternatives to|How can I get better at|What is the history of|Can you tell me more about|Is it worth the money to try|What would happen without|Which books would you recommend on|How much does it cost to start with|What do experts think of|Where can I read about|What are the main causes of|Could you explain the basics of|How long does it take to master|What are three facts about',
);
const THINGS = list(
  'beekeeping|electric cars|learning to play the cello|remote work|the Roman aqueducts|intermittent fasting|solar panels on a balcony|chess openings|sourdough bread|quantum computers|compound interest|the water cycle|blockchain|growing tomatoes indoors|public transport in Vienna|the French Revolution|hiking alone|minimalism|vaccines|recycling plastic|noise-cancelling headphones|the stock market|meditation|dinosaurs|video games for children|photography at night|mountain biking|the Silk Road|machine translation|houseplants that clean the air|vegan cooking|black holes|mortgages|a standing desk|coffee from Ethiopia|folk dances|volcanoes|digital detox|adopting a dog|insurance for travellers|origami|the moon landing|urban farming|job interviews|public speaking',
);
const WRITE = list(
  'Write a short poem about|Write a blog post on|Give me a list of five ideas for|Summarize what is known about|Create a quiz with ten questions on|Draft an outline for a talk on|Explain to a six-year-old|Make up a funny story about|Compose a tweet about|Write a product description for a kit for|Suggest names for a club for|Describe a typical day of someone who loves|Generate a slogan for a campaign on|Write a dialogue between two friends about|Make a table that compares two kinds of|Recommend a film about|Tell me a joke about|Write an email that invites people to a course on|Design a poster for|Plan a weekend around|Provide step-by-step guidance for beginners in|Write a haiku about|Argue for and against|Prepare a speech on|Translate into Italian a sentence about|Come up with a riddle on|Write a song in the style of a shanty about|Produce a study plan for|Analyse the latest trends in|Give a brief overview of',
);
const MANNER = list(
  '.|in two sentences.|for my newsletter.|, and keep it simple.|as a bulleted list.|in a friendly tone.|with a surprising ending.|for a school project.|in fewer than a hundred words.|from the point of view of a cat.|!|, please.',
);
const PROGRAM = list(
  'Write a Python function that|Write a SQL query that|Write a regular expression that|Write a shell one-liner that|Write a JavaScript snippet that|Fix this code so that it|Write a unit test that|Build a spreadsheet formula that|Write a small C program that|Show me how to write a loop that',
);
const DOES = list(
  'counts the vowels of a word.|sorts a list of dates.|finds duplicates in a folder.|returns the median of a list of numbers.|reads a CSV file and prints its columns.|checks whether a number is prime.|reverses the order of words.|converts Fahrenheit to Celsius.|renames all images by date.|matches a phone number.|groups orders by customer.|draws a triangle of stars.|removes empty lines.|downloads a page and counts its links.|prints the first twenty Fibonacci numbers.',
);
const READ_TEXT = list(
  'Find the spelling mistakes in the passage|Extract all names and dates from the text|Classify the topic of the previous lines|List the keywords of this page|Sum up the main idea in one line|Turn these notes into a timeline|Work out the average of the numbers above|Draw a conclusion from the table',
);
const AND_THEN = list(
  '.|?|and explain why.|, then give an example.|as JSON.|, please.|in one word.|and translate it into Dutch.',
);
const ERRANDS = list(
  'Set a reminder to water the plants at six|Order two pizzas for tonight|Find the cheapest flight to Oslo next month|Play some quiet music|Schedule a call with the dentist|Book a table for four on Saturday|Turn the heating down|Add oat milk to the shopping list|Look up the nearest pharmacy|Convert 250 dollars to euros|Start a timer of twenty minutes|Call me a taxi to the station|Search the web for second-hand bicycles|Check the opening hours of the museum|Write a reply that says I am busy|Send a birthday card to my aunt|Read me the headlines of today|Calculate the tip for a bill of 84|Open the photos of last summer|Show me the way to the beach',
);
const NOW = list(
  '.|, please.|right away.|and tell me when it is done.|!|, and do it every week.|before you go on.|for me.',
);
const GREETING = list(
  'Hi Anna,|Dear Mr. Okafor,|Hello team,|Dear customer,|Hi there,|Good morning Lena,|Dear tenants,|Hi all,|Hey Marco,|Dear Ms. Lindqvist,|Hello,|Hi Sam,|Dear members,|Dear colleagues,|Hey everyone,',
);
const OPENING = list(
  "I hope you are well.|Thank you for your order.|Just a quick note about next week.|Your invoice for October is attached.|It was great to see you on Friday.|As discussed on the phone, here are the details.|Your parcel is on its way.|This is to confirm your booking.|I wanted to follow up on our talk.|Thanks for the quick reply.|Your statement is ready.|You have a new message from your landlord.|Your subscription renews on 3 May.|I am writing about the flat on Mill Street.|We noticed a sign-in from a new device.|Your appointment with Dr. Brandt is on Tuesday at 9:40.|Please find the minutes of Monday's meeting below.|The agenda for the workshop is as follows.|Good news: the permit has been granted.|Your refund of 18.50 EUR has been issued.|Here is your weekly summary.",
);
const MATTER = list(
  'The meeting has been moved to room 4.|Please let me know if Thursday works for you.|Could you send me the slides before the call?|You can reach us on weekdays between nine and five.|The total comes to 311.20, including tax.|Delivery is expected between Monday and Wednesday.|Please bring a photo ID to the desk.|If you have any questions, just reply to this mail.|The rent goes up by 2 percent from January.|The train leaves at 7:12 from platform 3.|Do you want to join us for lunch?|I have added you to the shared calendar.|Your current balance is 1,204.33.|The new key codes are handed out at the reception.|Breakfast is included, parking costs 12 a day.|Please sign the form and return it by the 15th.|Can you double-check the figures in the second table?|The heating will be off on Wednesday from 8 to 12.|We will discuss the budget and the hiring plan.|Remember to submit your timesheet by Friday.|The kids had a wonderful time at your place.|If this was not you, please change your password.|No action is needed on your part.|There will be cake in the kitchen at three.|Please note that the office is closed on Monday.|The password for the guest network is on the board.|Your card was declined; please update the payment method.|The tickets are in the attachment, one for each of us.|I attached the contract with my comments.|How was your trip to Porto?|You can cancel free of charge until 18:00.|We kindly ask you to rate your stay.|The software update takes about ten minutes.|All participants get a link on the day before.|Click the button below to confirm your address.|The winners will be announced next Sunday.|Please transfer the deposit to the account on the contract.|She starts on the first of March as a project manager.|What time does the plumber come?|We need two more chairs for the balcony.|The deadline for abstracts is 30 June.|Attendance is optional, but we would be glad to see you.|Your points expire at the end of the year.|The water bill for the last quarter was 88.10.',
);
const CLOSING = list(
  'Best regards,|Kind regards,|Cheers,|Many thanks,|See you soon,|Best,|Yours sincerely,|Love,|Thanks,|Talk soon,|Warm regards,',
);
const SENDER = list(
  'Priya|The Harbour Bank team|Tom and Ines|Customer service|Jonas Weber\nSales manager|Your landlord|Mei|Support|Dr. K. Brandt|Facilities|HR|The team of Northway Travel|Lucas',
);
const EVENT = list(
  "Team lunch|Sprint review|Dentist|Yoga class|Parents' evening|Call with the supplier|Birthday of Nora|Quarterly planning|Flight LX 318|Interview with a candidate|Piano lesson|Car inspection|Book club|Board meeting|One-on-one",
);
const ABOUT_EVENT = list(
  "Discuss the roadmap and the open points.|Bring the documents of last year.|At the usual place.|Remember to book the small room.|Weekly meeting of the project.|Don't forget the cake!|We go through the numbers of the quarter.|A relaxed session for beginners.|Join by the link in the invitation.|Please prepare two questions each.|Meet at the main entrance.|Talk about the plan for the coming year.",
);
const REVIEW = list(
  'The bed was hard and the shower leaked, yet we slept well.|Lovely view, but the walls are thin.|Best ramen in town, we came back twice.|Would not recommend in summer, there is no air conditioning.|Great value, friendly driver, new car.|The soup was cold and we waited for an hour.|A bit far from the centre, yet very quiet.|We loved the garden and the old cat.|Try the fish, skip the dessert.|Do not miss the terrace at sunset.|If you like history, go on a Tuesday when entry is free.|Ask for a table by the window.',
);
const CHAT = list(
  "anyone up for coffee at ten?|I pushed the fix, can somebody have a look?|Hi everybody, I started here on Monday and look forward to working with you.|the printer on floor 2 is out of toner again|Great work on the launch, all!|Who has the adapter for the projector?|standup moved to 9:45 today|Here is the article I talked about: https://news.example/markets|Welcome to the channel, Dana!|does somebody know where the spare badge is?|I'll be late, the tram is stuck|Lunch menu: lentil soup, pasta, salad|What do you think about the new logo?|Please vote for the date of the retreat in the poll.",
);
const HOW_TO = list(
  'How do I|How can I|What is the best way to|Help me|Can you show me how to|Could you help me|Give me advice on how to|I want to|I need to|Teach me to|What do I need in order to|Walk me through how to|Is it hard to|What is the easiest method to|I would like your help to|Tell me how to|Explain how people|What are some creative ways to|Should I|Please help me',
);
const AIMS = list(
  'repair a flat tyre|write a cover letter for a job as a nurse|ask my boss for a raise|plan a surprise party for my brother|learn Portuguese in six months|sleep better when it is hot|choose a laptop for my studies|apologise to a friend whom I have hurt|prepare for an exam in statistics|build a small shed|save for a house|talk to a teenager about money|start a podcast|make a budget for two|remove red wine from a carpet|train a puppy|cook rice without a pot that burns|understand my electricity bill|write a wedding speech|deal with a noisy neighbour|get over a cold|move to another country|make new friends at forty|grow herbs on a windowsill|read more books|stop checking my phone|organise a charity concert|describe the taste of saffron|paint a portrait in watercolour|find a topic for a thesis|explain divorce to a child|memorise a poem|convince my parents to get a cat|open a small bakery|travel through Norway by train|fix a leaking tap|dance salsa|play the ukulele|behave at a formal dinner|name my sailing boat',
);
const UNDER = list(
  'for a complete beginner|on a small budget|without any special tools|before the weekend|in my own words|as quickly as possible|while I work full time||||',
);
const PARTS = list(
  'You are a travel agent.|Imagine you are a detective in 1920.|Act as my interviewer.|Take the part of a strict teacher.|You are an expert in nutrition.|Pretend to be a weather presenter.|Speak as if you were the sea.|You play a shopkeeper in a fantasy town.|Put yourself in the place of a historian.|Be my coach.',
);
const IN_PART = list(
  'Ask me one question at a time.|Recommend three places and say why.|Write your diary of today.|Give me feedback on my last answer.|What would you tell a beginner?|Tell me what you see.|Explain your choice in detail.|Start with a greeting.|Describe the room in which you sit.|How would you solve the case of the missing crown?',
);
const BECAUSE = list(
  'I am writing a novel about|I have to give a talk on|My daughter has a test on|For a blog I need some lines about|I run a small shop and want to post about|Our club discusses|I am new to|A friend of mine is crazy about',
);
const SO_ASK = list(
  'Can you give me some ideas?|What would be a good title?|Please write the first paragraph.|Could you sum up the main points?|Which facts should I mention?|Make it sound exciting.|How would you begin?|Write a short scene in which two people argue about it.|What questions will people ask?',
);
const TABLES: readonly (readonly (readonly string[])[])[] = [
  [
    list('Date|2024-01-11|2024-02-17|2024-03-02|2024-05-28'),
    list('Payee|Arden Ltd|Sato|Union|Cedar Foods'),
    list('Amount|12.40|251.3|79|1204'),
  ],
  [
    list('Name|Otter|Delta|Moreno|Kite'),
    list('City|Lisbon|Riga|Helsinki|Graz'),
    list('Score|7.1|81|64|9'),
    list('Rank|1|2|3|4'),
  ],
  [list('Year|1950|1984|2003|2019'), list('Population|139 000|71 250|402 118|9 310'), list('Births|311|1 204|96|888')],
  [list('Product|Blue kite|Oak shelf|Grand lamp|Kettle'), list('Price|19.90|240|8|31.5'), list('Stock|0|12|140|3')],
  [list('Team|Rovers|Union|Delta|Novak'), list('Won|11|7|3|0'), list('Lost|2|5|9|14'), list('Points|35|22|10|4')],
  [
    list('Station|Oak Hill|Cedar Street|Harbour|North Gate'),
    list('Arrival|7:12|8:40|16:05|22:31'),
    list('Platform|1|3|4|2b'),
  ],
];
const [LINE, GAP] = [['\n'], ['\n\n']];

/** One row of a table under its heads, for each of so many tables of different length. */
function tables(many: number): string[] {
  return Array.from({ length: many }, (_, turn) => {
    const columns = TABLES[turn % TABLES.length] as readonly (readonly string[])[];
    const row = (at: number): string =>
      `| ${columns.map((cells, column) => cells[at === 0 ? 0 : 1 + ((at * (column + 3) + turn) % (cells.length - 1))]).join(' | ')} |`;
    return Array.from({ length: 4 + (turn % 9) }, (_line, at) => row(at)).join('\n');
  });
}

const inLines = (text: string): string => text.split(' \n').join('\n').split('\n ').join('\n');

/** The same sentences every time, each of them in some of the texts. */
export function answerExamples(): AnswerExamples {
  const requests = [
    ...chosen([ASKED_OF, THINGS, ['?']], 380),
    ...chosen([WRITE, THINGS, MANNER], 520),
    ...chosen([PROGRAM, DOES], 110),
    ...chosen([READ_TEXT, AND_THEN], 90),
    ...chosen([ERRANDS, NOW], 140),
    ...chosen([HOW_TO, AIMS, UNDER, ['?', '.']], 420),
    ...chosen([PARTS, IN_PART], 80),
    ...chosen([BECAUSE, THINGS, ['.'], SO_ASK], 260),
  ];
  const documents = [
    ...chosen([GREETING, GAP, OPENING, MATTER, MATTER, GAP, CLOSING, LINE, SENDER], 110),
    ...chosen(
      [
        ['From:'],
        SENDER,
        ['\nSubject:'],
        EVENT,
        GAP,
        GREETING,
        GAP,
        OPENING,
        LINE,
        MATTER,
        LINE,
        MATTER,
        MATTER,
        GAP,
        CLOSING,
        LINE,
        SENDER,
      ],
      110,
    ),
    ...chosen([GREETING, OPENING, MATTER, MATTER, CLOSING, SENDER], 110),
    ...chosen([['BEGIN:VEVENT\nSUMMARY:'], EVENT, ['\nDESCRIPTION:'], ABOUT_EVENT, ABOUT_EVENT, ['\nEND:VEVENT']], 45),
    ...chosen([EVENT, [':'], ABOUT_EVENT, ABOUT_EVENT, ['Starts at ten.', 'All day.', 'Every Tuesday.']], 45),
    ...chosen([['3', '4', '5'], ['stars\n'], REVIEW, LINE, REVIEW, LINE, REVIEW], 45),
    ...chosen([REVIEW, REVIEW, LINE, REVIEW], 45),
    ...chosen([['Bob:', 'Ines:', 'Yusuf:'], CHAT, LINE, ['Alice:', 'Kofi:'], CHAT, LINE, ['Carl:', 'Mei:'], CHAT], 45),
    ...chosen([CHAT, LINE, CHAT, LINE, CHAT], 45),
    ...tables(160),
    ...[OPENING, MATTER, REVIEW, CHAT, ABOUT_EVENT].flat(),
  ].map(inLines);
  return { requests: [...new Set(requests)], documents: [...new Set(documents)] };
}
