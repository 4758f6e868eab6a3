import type { Argument, Command, Option } from 'commander';

/** One word that a shell may offer. */
export interface Candidate {
	readonly word: string;
	/** For shells that show it beside the word. */
	readonly about?: string;
}

/** What may stand at the cursor. */
export interface Completion {
	readonly candidates: readonly Candidate[];
	/** What the shell completes itself. */
	readonly paths?: 'files' | 'directories';
	/** What only a running sidecar knows, and the flags that were given for it. */
	readonly names?: { readonly of: NameKind; readonly flags: Readonly<Record<string, string>> };
}

/** Names that are asked of a sidecar: of an argument or the value of a flag that is called so. */
export type NameKind = 'service' | 'key' | 'stream' | 'group' | 'func';

const NAME_KINDS: ReadonlySet<string> = new Set<NameKind>(['service', 'key', 'stream', 'group', 'func']);

/**
 * What may stand at the last of these words, which may be empty or unfinished; the name of the command is none of them. All of it is
 * read from the tree of commands, so that a new command or flag is completed without a line for it. Pure.
 */
export function complete(program: Command, words: readonly string[]): Completion {
	const current = words.at(-1) ?? '';
	const place = walk(program, words.slice(0, -1));
	if (place === undefined) return { candidates: [], paths: 'files' };
	const { command, awaited, args, flags } = place;
	if (awaited !== undefined) return valuesOf(awaited, current, flags);
	const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
	if (name !== undefined && value !== undefined) {
		const option = command.options.find(({ long }) => long === name);
		if (option === undefined) return { candidates: [] };
		const { candidates } = valuesOf(option, value, flags);
		return { candidates: candidates.map((one) => ({ ...one, word: `${name}=${one.word}` })) };
	}
	if (current.startsWith('-')) return { candidates: startingWith(flagsOf(command), current) };
	if (args === 0 && command.commands.length > 0) return { candidates: startingWith(commandsOf(command), current) };
	const { registeredArguments } = command;
	const argument = registeredArguments[args] ?? registeredArguments.findLast(({ variadic }) => variadic);
	return argument === undefined ? { candidates: [] } : valuesOf(argument, current, flags);
}

/** Where the cursor is. */
interface Place {
	readonly command: Command;
	/** The flag whose value comes next. */
	readonly awaited: Option | undefined;
	/** Arguments in front of it. */
	readonly args: number;
	readonly flags: Readonly<Record<string, string>>;
}

/** Undefined behind `--`, where another program's command line begins. */
function walk(program: Command, words: readonly string[]): Place | undefined {
	let command = program;
	let awaited: Option | undefined;
	let args = 0;
	const flags: Record<string, string> = {};
	for (const word of words) {
		if (awaited !== undefined) {
			flags[awaited.attributeName()] = word;
			awaited = undefined;
			continue;
		}
		if (word === '--') return undefined;
		if (word.startsWith('-')) {
			const [, name = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
			const option = command.options.find(({ long, short }) => long === name || short === name);
			if (option !== undefined && value !== undefined) flags[option.attributeName()] = value;
			if (value === undefined && option?.required) awaited = option;
			continue;
		}
		const child = args === 0 ? command.commands.find((one) => one.name() === word) : undefined;
		if (child === undefined) args++;
		else command = child;
	}
	return { command, awaited, args, flags };
}

function valuesOf(of: Option | Argument, current: string, flags: Readonly<Record<string, string>>): Completion {
	const { argChoices } = of;
	if (argChoices !== undefined)
		return {
			candidates: startingWith(
				argChoices.map((word) => ({ word })),
				current,
			),
		};
	// `<file>`, `<service>`: what stands for the value says what it is.
	const name = 'attributeName' in of ? (/<(.*)>/.exec(of.flags)?.[1] ?? '') : of.name();
	const meant = 'attributeName' in of && of.long === '--service' ? 'service' : name;
	if (meant === 'file' || meant === 'path') return { candidates: [], paths: 'files' };
	if (meant === 'directory') return { candidates: [], paths: 'directories' };
	return isNameKind(meant) ? { candidates: [], names: { of: meant, flags } } : { candidates: [] };
}

function isNameKind(name: string): name is NameKind {
	return NAME_KINDS.has(name);
}

function flagsOf(command: Command): Candidate[] {
	return command
		.createHelp()
		.visibleOptions(command)
		.flatMap(({ long, description }) => (long ? [{ word: long, about: description }] : []));
}

function commandsOf(command: Command): Candidate[] {
	return command
		.createHelp()
		.visibleCommands(command)
		.map((child) => ({ word: child.name(), about: child.description() }));
}

function startingWith(candidates: readonly Candidate[], current: string): Candidate[] {
	return candidates.filter(({ word }) => word.startsWith(current));
}
