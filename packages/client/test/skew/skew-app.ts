import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import type { Diplomat, DiplomatOptions, GetServiceOptions, Registration } from '@spock/client';
import type { ServiceSnapshot } from '@spock/protocol';

import type { AppCommand, AppReply, AppSettings } from './skew-messages.ts';
import { viewOf } from './skew-view.ts';

// An app with the client of the build that its settings name. It ends with its channel: none is left behind when the test is gone.
const { client, at } = JSON.parse(process.argv[2] ?? '') as AppSettings;
process.once('disconnect', () => process.exit());

const { connect } = (await import(client)) as typeof import('@spock/client');
const diplomat: Diplomat = await connect({ ...(await addressOf(at)), retryDelayMsMax: 50 });
const watched = new Map<string, ServiceSnapshot>();
let registration: Registration | undefined;
let load: Load | undefined;

async function addressOf(address: AppSettings['at']): Promise<DiplomatOptions> {
	if ('path' in address) return address;
	const { host, port, transport, caFile, tokenFile } = address;
	const { tlsTransport } = (await import(transport)) as typeof import('@spock/client/tls');
	const ca = readFileSync(caFile, 'utf8');
	return { host, port, transport: tlsTransport({ ca }), token: () => readFileSync(tokenFile, 'utf8') };
}

/** Lookups of one service, one after the other. */
class Load {
	#lookups = 0;
	readonly #failures: string[] = [];
	#isStopped = false;
	readonly #ended: Promise<void>;

	constructor(service: string, fresh: boolean) {
		this.#ended = this.#run(service, { fresh });
	}

	async stop(): Promise<{ readonly lookups: number; readonly failures: readonly string[] }> {
		this.#isStopped = true;
		await this.#ended;
		return { lookups: this.#lookups, failures: this.#failures };
	}

	async #run(service: string, options: GetServiceOptions): Promise<void> {
		while (!this.#isStopped) {
			try {
				await diplomat.getService(service, options);
			} catch (error) {
				this.#failures.push(String(error));
			}
			this.#lookups++;
			await delay(1);
		}
	}
}

async function obey(command: AppCommand): Promise<unknown> {
	switch (command.kind) {
		case 'watch':
			diplomat.observeService(command.service, {
				next: (snapshot) => watched.set(command.service, snapshot),
				error: () => undefined,
			});
			return;
		case 'watched': {
			const snapshot = watched.get(command.service);
			return snapshot && viewOf(snapshot.instances, snapshot);
		}
		case 'fetch': {
			const { service, maxAgeMs } = command;
			const snapshot = await diplomat.getInstances(service, maxAgeMs === undefined ? {} : { maxAgeMs });
			return { ...viewOf(snapshot.instances, snapshot), ageMs: snapshot.ageMs, verifiedAt: snapshot.verifiedAt };
		}
		case 'key':
			return (await diplomat.getKey(command.key)).value;
		case 'explain': {
			const { instances, instanceCount, upstreams = [] } = await diplomat.explain(command.service);
			return { shown: instances.length, instanceCount, hops: upstreams.length };
		}
		case 'register':
			registration = await diplomat.register(command.registration);
			return registration.state;
		case 'deregister':
			return registration?.drain();
		case 'load':
			load = new Load(command.service, command.fresh);
			return;
		case 'loaded':
			return load?.stop();
		case 'status':
			return diplomat.status();
	}
}

function answer(reply: AppReply | { readonly kind: 'failed'; readonly why: string }): void {
	process.send?.(reply);
}

process.on('message', (command: AppCommand) => {
	obey(command).then(
		(value) => answer({ kind: command.kind, value }),
		(error: unknown) => answer({ kind: 'failed', why: String((error as Error).stack ?? error) }),
	);
});
answer({ kind: 'ready', value: null });
