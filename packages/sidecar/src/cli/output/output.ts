import { type ErrorCode, errorHelp, SpockError } from '@spock/protocol';
import { messageOf } from '@spock/protocol/internal';

import { commandName, typedAdvice } from './command-name.ts';
import { errorPage, withDocumentation } from './documentation.ts';

/** What a script reads from the command's exit code. */
export const EXIT: Readonly<Record<'ok' | 'failure' | 'usage' | 'noSidecar', number>> = Object.freeze({
	/** There is an answer. */
	ok: 0,
	/** No such service, none healthy, or another failure that the sidecar answered. */
	failure: 1,
	/** Wrong usage or settings. */
	usage: 2,
	/** No sidecar at that address. */
	noSidecar: 3,
});

/** Ends a command with a message on stderr and an exit code. */
export class CommandError extends Error {
	readonly exitCode: number;
	/** For `--json`: what may pass by itself, and is in no answer of a sidecar. Default: by the exit code. */
	readonly code: 'TIMEOUT' | 'NOT_READY' | undefined;

	constructor(exitCode: number, message: string, options?: ErrorOptions & { readonly code?: CommandError['code'] }) {
		super(message, options);
		this.name = 'CommandError';
		this.exitCode = exitCode;
		this.code = options?.code;
	}
}

/** Turns any error into a usage error: a wrong setting is wrong usage, wherever it is found. */
export async function asUsage<T>(make: () => T | Promise<T>): Promise<T> {
	try {
		return await make();
	} catch (error) {
		if (error instanceof CommandError) throw error;
		throw new CommandError(EXIT.usage, messageOf(error), { cause: error });
	}
}

/** Control, format (text direction among it) and line separator characters: what steers a terminal or hides in a line. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same but for what lays out text of several lines. */
const STEERING_BUT_LAYOUT = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Text of a registry, a client or a file on one line of a terminal, which nothing in it can steer: such characters are shown
 * as JSON writes them (`\u001b`).
 */
export function printable(text: string): string {
	return text.replace(STEERING, escaped);
}

/** The same for text whose line ends and tabs are meant, such as a page, or a value of several lines. JSON stays the same JSON. */
export function printableLines(text: string): string {
	return text.replace(STEERING_BUT_LAYOUT, escaped);
}

function escaped(character: string): string {
	const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
	return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Prints a line, or several, on stdout; nothing in them steers a terminal. */
export function print(text: string): void {
	process.stdout.write(`${printableLines(text)}\n`);
}

/** Says on stderr why a command has failed. Gives the exit code. */
export function reportFailure(error: unknown): number {
	if (error instanceof CommandError) {
		const message = withDocumentation(typedAdvice(error.message));
		process.stderr.write(`${commandName()}: ${printableLines(message)}\n${helpLine(error)}`);
		return error.exitCode;
	}
	const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
	process.stderr.write(`${commandName()}: ${printableLines(text)}\n`);
	return EXIT.failure;
}

/** The codes whose messages say what happened, while the causes, and what to do, fill a section of the documentation. */
const EXPLAINED: readonly ErrorCode[] = [
	...(['NO_HEALTHY_INSTANCE', 'NOT_READY', 'UNAVAILABLE', 'OVERLOADED'] as const),
	...(['FRAME_TOO_LARGE', 'UNSUPPORTED_VERSION', 'INTERNAL'] as const),
];

function helpLine({ cause }: CommandError): string {
	if (!SpockError.is(cause) || !EXPLAINED.includes(cause.code)) return '';
	return `${commandName()}: causes and what to do: ${errorPage(errorHelp(cause.code))}\n`;
}

/**
 * Decides what becomes of a command whose output cannot be written. A reader that has gone, as in `sidecar list | head -1`,
 * has what it wanted: the command goes on to its end in silence, with the exit code it would have had. Any other failure
 * of stdout, such as a full disk, ends it with a message, because a script would take the answer for whole.
 */
export function handleLostOutput(): void {
	process.stdout.on('error', endOfOutput);
	// There is nowhere left to report it.
	process.stderr.on('error', () => undefined);
}

/** What is written from now on is a log: that it cannot be written ends nothing. */
export function outputIsLog(): void {
	process.stdout.off('error', endOfOutput);
}

function endOfOutput(error: NodeJS.ErrnoException): void {
	if (error.code === 'EPIPE') return;
	process.stderr.write(`${commandName()}: the output cannot be written: ${error.message}\n`);
	process.exit(EXIT.failure);
}
