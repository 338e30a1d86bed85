// docs/lint.md, made of the table of rules.
import { CATEGORIES, WEIGHTS, type Category, type Rule } from './rule.ts'
import { RULES } from './rules.ts'

export function rulesPage (): string {
  return [OPENING, ...CATEGORIES.map(chapter), chapter('safety'), CLOSING].join('\n\n') + '\n'
}

const OPENING = `# What \`aval lint\` looks at

Made of the table of rules by \`aval lint --rules\`; a test holds this page to it.

Most tool calls that fail, fail by their contract: the model was told too little, or something else than what is so. The rubric looks for
that. An action has 100 points, in five categories that are weighed by how calls fail:

| category | weight | what for |
|---|---|---|
| description | 25 % | the right action is chosen: 10 to 200 words, verb first, use this when, do not use for, returns, errors, freshness |
| parameters | 25 % | the call is well-formed: typed, described, bounded arguments, and an honest list of those that are required |
| practice | 20 % | what comes back proves something and is bounded; annotations can be derived |
| naming | 15 % | snake_case verb_object that says what happens and no more |
| examples | 15 % | at least one valid call with its result |

A rule costs points of its category: all of its cost where everything it asked about is at fault, a share where some is. The score is
rounded down. Rules of **safety** cost nothing and cap: no action with such a finding scores more than the cap, however well it is written.
A sheet that does not load scores 0.

| grade | A | B | C | D | F |
|---|---|---|---|---|---|
| score | 90 and more | 80 | 70 | 60 | below 60 |

**90 guarantees nothing; below 60 nearly guarantees failure.** The rules read words and schemas. They cannot know whether the sentence is
true, whether the key is honoured, or whether the action is wanted; tests, a probe of the real upstream and a person's review do. But what
fails here fails with agents.

The same files give the same score on every run and machine: no model is asked, nothing is fetched, no clock is read.

A finding that is right and cannot be helped is accepted in the sheet, with the reason, in a comment anywhere in the file:

\`\`\`yaml
# aval-lint-accept write-without-look-up: the mail service keeps no list of what it sent
\`\`\`

It then lowers nothing and stays in every report (in SARIF as a suppression with its justification). An acceptance that names no rule, has
no reason, or whose finding is gone is told as \`acceptance-useless\`.

\`--fix\` repairs what needs no judgement: a maxLength that follows from the pattern, a maxItems that follows from the enum, bounds of a
result that hold anyway, characters that nobody sees. Comments, order and form of the file stay.

The examples show what is changed in an otherwise clean contract; a field set to null is taken away.`

const CLOSING = `## What a load refuses

Faults that \`serve\` refuses a set for are findings here too, as errors of the category \`load\`; a test of the loader holds each.`

const TITLES: Readonly<Record<Category | 'safety', string>> = {
  description: 'Description', parameters: 'Parameters', practice: 'Practice', naming: 'Naming', examples: 'Examples', safety: 'Safety',
}

function chapter (category: Category | 'safety'): string {
  const weight = category === 'safety' ? 'caps the score' : `${WEIGHTS[category]} %`
  return [`## ${TITLES[category]} (${weight})`, ...RULES.filter(rule => rule.weighs.category === category).map(section)].join('\n\n')
}

function section ({ id, severity, weighs, says, why, example }: Rule): string {
  const weight = weighs.category === 'safety' ? `at most ${weighs.cap} points` : `costs ${weighs.cost} of 100 in its category`
  const shown = (word: string, yaml: string): string => `\`\`\`yaml\n# ${word}\n${yaml}\n\`\`\``
  return [`### ${id}`, `${says} *${severity}, ${weight}.*`, why, shown('bad', example.bad), shown('good', example.good)].join('\n\n')
}
