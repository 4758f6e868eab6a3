import { styleText } from 'node:util';

import {
	type AddHelpTextContext,
	type Command,
	Help,
	type HelpConfiguration,
	type OutputConfiguration,
} from 'commander';

import { COMMAND_NAMES, typedCommand } from './output/command-name.ts';
import { withDocumentation } from './output/documentation.ts';

/** Wider lines are hard to read. */
const HELP_WIDTH_MAX = 120;
/** A term has at least this, and at most a third of the line; that of a longer one stands on a line of its own. */
const TERM_WIDTH_MIN = 28;

/** How wide help is. */
export const helpOutput: OutputConfiguration = {
	getOutHelpWidth: () => Math.min(process.stdout.columns ?? 80, HELP_WIDTH_MAX),
	getErrHelpWidth: () => Math.min(process.stderr.columns ?? 80, HELP_WIDTH_MAX),
};

/** How help is laid out; commander takes the colour out where there is no terminal, or NO_COLOR is set. */
export const helpFormat: HelpConfiguration = {
	padWidth(this: Help, command, helper) {
		const third = Math.floor((helper.helpWidth ?? 80) / 3);
		return Math.min(Help.prototype.padWidth.call(this, command, helper), Math.max(TERM_WIDTH_MIN, third));
	},
	formatItem(this: Help, term, termWidth, description, helper) {
		const format = (shown: string): string =>
			Help.prototype.formatItem.call(this, shown, termWidth, description, helper);
		return helper.displayWidth(term) > termWidth ? `  ${term}\n${format('')}` : format(term);
	},
	optionDescription: ({ description, argChoices }) =>
		withDocumentation(argChoices === undefined ? description : `${description} (choices: ${argChoices.join(', ')})`),
	argumentDescription: ({ description }) => withDocumentation(description),
	styleTitle: (title) => styleText('bold', title, { validateStream: false }),
};

/** Text behind the options, for `addHelpText`: as wide as the rest of the help. */
export function paragraph(text: string): (context: AddHelpTextContext) => string {
	return ({ command, error }) => {
		const width = error ? helpOutput.getErrHelpWidth?.() : helpOutput.getOutHelpWidth?.();
		return `\n${command.createHelp().boxWrap(text, width ?? 80)}`;
	};
}

/** Commands in the help of the whole, by what they are for; any other stands behind them. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
	'Run a sidecar:': ['start', 'wait', 'health', 'doctor'],
	'Look services up:': ['get', 'list', 'watch', 'explain'],
	'Write to the registry and read keys:': ['register', 'kv'],
	'Look into a sidecar:': ['status', 'top', 'events', 'call', 'record'],
	'For your editor and shell:': ['typegen', 'completion', 'help'],
};

const OTHERS = 'Other commands:';

/** What to type, by command; `sidecar` stands for what is typed where it was called. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
	start: [
		'sidecar start --services services.yaml',
		'sidecar start --consul http://127.0.0.1:8500 --state-dir /var/lib/spock --admin 127.0.0.1:9464',
		'sidecar start --config spock.yaml --grace-ms 5s --print-config',
	],
	get: ['sidecar get barista', 'sidecar get barista --tag v2 --max-age-ms 10s --json'],
	watch: ['sidecar watch barista'],
	explain: ['sidecar explain barista --tag v2'],
	register: ['sidecar register barista --port 8080 --tag v2 --check http://127.0.0.1:8080/health'],
	'kv get': ['sidecar kv get barista/limits', 'sidecar kv get barista/ --prefix'],
	'kv watch': ['sidecar kv watch barista/limits'],
	'events publish': [`sidecar events publish orders '{"total":5}' --key ann`],
	'events tail': ['sidecar events tail orders --from first'],
	'events rewind': ['sidecar events rewind orders mailer --to 2026-01-31T12:00:00Z'],
	call: [`sidecar call getInstances '{"service":"barista"}'`],
	top: ['sidecar top --admin 127.0.0.1:9464'],
	record: ['sidecar record monday.jsonl --service barista'],
	typegen: ['sidecar typegen --services services.yaml --out src/services.ts'],
	wait: ['sidecar wait --timeout 90s -- node app.js'],
	health: ['sidecar health --timeout 1s'],
	completion: [
		'source <(sidecar completion bash)',
		'sidecar completion fish > ~/.config/fish/completions/sidecar.fish',
	],
};

/** Gives each command its group and its examples. */
export function completeHelp(program: Command): void {
	const order = Object.entries(GROUPS).flatMap(([heading, names]) => names.map((name) => [heading, name] as const));
	for (const command of program.commands) {
		const [heading = OTHERS] = order.find(([, name]) => name === command.name()) ?? [];
		command.helpGroup(heading);
	}
	const placeOf = (command: Command): number => order.findIndex(([, name]) => name === command.name()) + 1 || 99;
	// Commander shows them, and so their groups, in the order in which they are kept.
	(program.commands as Command[]).sort((one, other) => placeOf(one) - placeOf(other));
	program.commandsGroup('For your editor and shell:').helpCommand('help [command]', 'display help for a command');
	for (const [path, lines] of Object.entries(EXAMPLES)) {
		const command = path
			.split(' ')
			.reduce<Command | undefined>((parent, name) => parent?.commands.find((child) => child.name() === name), program);
		command?.addHelpText('after', `\n${titleOf(lines)}\n${lines.map((line) => `  ${typed(line)}`).join('\n')}`);
	}
}

function titleOf(lines: readonly string[]): string {
	return lines.length === 1 ? 'Example:' : 'Examples:';
}

function typed(line: string): string {
	return line.replaceAll(`${COMMAND_NAMES[0]} `, () => `${typedCommand()} `);
}
