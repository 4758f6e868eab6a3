import type { RegisterServiceData, RegistrationCheck, RegistrationReply } from '@spock/protocol';
import { Backoff } from '@spock/protocol/internal';

import { CommandError, EXIT } from './exit-codes.ts';
import { WireClient } from './wire-client.ts';
import { addressOf, asCommandError, type ClientFlags, print, timeoutOf } from './with-client.ts';

/** Flags of `sidecar register`, as commander gives them. */
export interface RegisterFlags extends ClientFlags {
	readonly port: string;
	readonly host?: string;
	readonly id?: string;
	readonly tag?: readonly string[];
	readonly meta?: readonly string[];
	readonly weight?: string;
	readonly check?: string;
}

/**
 * `sidecar register SERVICE`: holds a registration until Ctrl-C or SIGTERM, which deregisters it (0). The first
 * registration must succeed; after that it waits for a sidecar that restarts, and registers again.
 */
export async function register(service: string, flags: RegisterFlags): Promise<void> {
	const stopped = new Promise<'stopped'>((resolve) => {
		process.once('SIGINT', () => resolve('stopped'));
		process.once('SIGTERM', () => resolve('stopped'));
		process.stdout.once('error', () => resolve('stopped'));
	});
	const timeoutMs = timeoutOf(flags);
	const address = addressOf(flags);
	let registration = registrationOf(service, flags);
	const show = (reply: RegistrationReply): void =>
		print(flags.json ? JSON.stringify(reply) : formatRegistration(reply));
	const backoff = new Backoff({ delayMsMin: 100, delayMsMax: 2000 });

	let isFirst = true;
	for (;;) {
		let wasRegistered = false;
		try {
			const client = await WireClient.open(address, timeoutMs);
			try {
				client.onPush = (event, data) => {
					if (event === 'registration') show(data as RegistrationReply);
				};
				const reply = await client.request('registerService', registration, timeoutMs);
				// The id that the sidecar gave it is kept: the next one might make another.
				registration = { ...registration, id: reply.id };
				show(reply);
				[isFirst, wasRegistered] = [false, true];
				// Only now pushes are wanted: the answer has told what the first would.
				await client.request(
					'hello',
					{ versions: [1], client: 'sidecar register', features: ['push', 'goaway'] },
					timeoutMs,
				);
				backoff.reset();
				const end = await Promise.race([stopped, client.closed, client.sentAway.then(() => 'sent away')]);
				// The next one leaves what it finds registered in peace until somebody comes for it.
				if (end === 'sent away') continue;
				if (end === 'stopped') {
					client.onPush = () => undefined;
					await client.request('deregisterService', { id: reply.id }, timeoutMs);
					show({ ...reply, state: 'deregistered', error: null });
					return;
				}
			} finally {
				client.close();
			}
		} catch (error) {
			if (isFirst || !isPassing(error)) throw asCommandError(error);
		}
		if (wasRegistered) process.stderr.write('the sidecar is gone; waiting for it to come back\n');
		if ((await pause(backoff.next(), stopped)) === 'stopped') return;
	}
}

/** What the flags say. Throws a CommandError naming a flag that is wrong. */
export function registrationOf(service: string, flags: RegisterFlags): RegisterServiceData {
	const { port, host, id, tag, meta, weight, check } = flags;
	return {
		service,
		port: wholeNumber('--port', port),
		...(host !== undefined && { host }),
		...(id !== undefined && { id }),
		...(tag && { tags: tag }),
		...(meta && { meta: Object.fromEntries(meta.map(readMeta)) }),
		...(weight !== undefined && { weights: { passing: wholeNumber('--weight', weight) } }),
		...(check !== undefined && { check: readCheck(check) }),
	};
}

/** One line for people. */
export function formatRegistration({ id, service, instance, state, error }: RegistrationReply): string {
	const name = instance === null || instance === id ? id : `${id}, in look-ups ${instance}`;
	return `${service} (${name}): ${state}${error === null ? '' : `: ${error}`}`;
}

function wholeNumber(flag: string, text: string): number {
	const value = Number(text);
	if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
		throw new CommandError(EXIT.usage, `${flag} must be a whole number, not ${text}`);
	}
	return value;
}

function readMeta(text: string): [name: string, value: string] {
	const at = text.indexOf('=');
	if (at < 1) throw new CommandError(EXIT.usage, `--meta must be name=value, not ${text}`);
	return [text.slice(0, at), text.slice(at + 1)];
}

function readCheck(text: string): RegistrationCheck {
	if (text.startsWith('tcp://')) return { tcp: text.slice('tcp://'.length) };
	if (/^https?:\/\//.test(text)) return { http: text };
	throw new CommandError(EXIT.usage, `--check must be http://…, https://… or tcp://host:port, not ${text}`);
}

/** True for what waiting mends: a sidecar that is not there, or is just ending. */
function isPassing(error: unknown): boolean {
	if (error instanceof CommandError) return error.exitCode === EXIT.noSidecar;
	return (error as { readonly retryable?: boolean }).retryable === true;
}

async function pause(delayMs: number, stopped: Promise<'stopped'>): Promise<'stopped' | undefined> {
	let timer: NodeJS.Timeout | undefined;
	const due = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), delayMs);
	});
	try {
		return await Promise.race([stopped, due]);
	} finally {
		clearTimeout(timer);
	}
}
