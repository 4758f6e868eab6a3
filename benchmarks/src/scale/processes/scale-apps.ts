import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

import { connect, createDiplomat, type Diplomat, type DiplomatOptions } from '@spock/client';
import { tlsTransport } from '@spock/client/tls';
import { consulSource } from '@spock/discovery';

import { answerCommands, memoryNow } from './answer-commands.ts';

/** What {@link probeScaleApps} is given. */
export interface ScaleAppsSettings {
	/** Where the apps connect to, each to the next one in turn; with a port to TLS at 127.0.0.1; with a URL to Consul itself. */
	readonly at: readonly (string | { readonly port: number; readonly ca: string } | { readonly consul: string })[];
	readonly services: readonly string[];
	readonly frameBytesMax?: number;
}

/**
 * `connect` adds apps, and is answered when each has every service. `watch`: from now on connections are counted. `back` waits until as many
 * as there are apps were made, and every answer is live again. `memory` needs `--expose-gc`.
 */
export type ScaleAppsCommand =
	| { readonly kind: 'connect'; readonly count: number }
	| { readonly kind: 'watch' }
	| { readonly kind: 'back'; readonly timeoutMs: number }
	| { readonly kind: 'memory' };

/** What `back` is answered with. Moments are on the clock of `performance.timeOrigin + performance.now()`, which processes share. */
export interface BackReport {
	readonly firstAtMs: number;
	readonly lastAtMs: number;
	readonly missing: number;
	readonly failedLookups: number;
}

/** Apps in one process, each with a client of its own. */
export async function probeScaleApps([settings = '{}']: readonly string[]): Promise<void> {
	const { at, services, frameBytesMax } = JSON.parse(settings) as ScaleAppsSettings;
	const diplomats: Diplomat[] = [];
	const storm = new Storm(() => diplomats, services);
	const open = (place: ScaleAppsSettings['at'][number]): Promise<Diplomat> => {
		if (typeof place !== 'string' && 'consul' in place) {
			return Promise.resolve(createDiplomat({ source: consulSource({ addresses: [place.consul] }) }));
		}
		const options: DiplomatOptions =
			typeof place === 'string'
				? { path: place }
				: { host: '127.0.0.1', port: place.port, transport: tlsTransport({ ca: place.ca }) };
		return connect({ ...options, readyTimeoutMs: 60_000, timeoutMs: 60_000, ...(frameBytesMax && { frameBytesMax }) });
	};
	await answerCommands<ScaleAppsCommand>(async (command) => {
		switch (command.kind) {
			case 'connect':
				for (let index = 0; index < command.count; index++) {
					const place = at[diplomats.length % at.length];
					if (place === undefined) throw new Error('no place to connect to');
					const diplomat = await open(place);
					diplomats.push(diplomat);
					await Promise.all(services.map((service) => diplomat.getInstances(service)));
					for (const service of services) diplomat.observeService(service, { next: () => undefined });
				}
				return diplomats.length;
			case 'watch':
				storm.watch();
				return true;
			case 'back':
				return storm.back(command.timeoutMs);
			case 'memory':
				return memoryNow();
		}
	});
}

const LOOK_MS = 20;
const BACK_LOOK_MS = 10;

/** Clients that lose their sidecar and come back. */
class Storm {
	readonly #diplomats: () => readonly Diplomat[];
	readonly #services: readonly string[];
	#connectsMs: number[] = [];
	#failed = 0;
	#looking: NodeJS.Timeout | undefined;

	constructor(diplomats: () => readonly Diplomat[], services: readonly string[]) {
		this.#diplomats = diplomats;
		this.#services = services;
		subscribe('spock:client:connect', () => this.#connectsMs.push(performance.timeOrigin + performance.now()));
	}

	/** From now on connections count, and every client picks all the time. */
	watch(): void {
		this.#connectsMs = [];
		this.#failed = 0;
		clearInterval(this.#looking);
		let turn = 0;
		this.#looking = setInterval(() => {
			const service = this.#services[turn++ % this.#services.length] ?? '';
			for (const diplomat of this.#diplomats()) if (diplomat.pick(service) === undefined) this.#failed++;
		}, LOOK_MS);
	}

	async back(timeoutMs: number): Promise<BackReport> {
		const deadlineMs = performance.now() + timeoutMs;
		const needed = this.#diplomats().length;
		while ((this.#connectsMs.length < needed || this.#missing() > 0) && performance.now() < deadlineMs) {
			await delay(BACK_LOOK_MS);
		}
		const lastAtMs = performance.timeOrigin + performance.now();
		clearInterval(this.#looking);
		const [firstAtMs = Number.NaN] = this.#connectsMs;
		return { firstAtMs, lastAtMs, missing: this.#missing(), failedLookups: this.#failed };
	}

	/** Clients without a connection, or with an answer that is not live. */
	#missing(): number {
		const isLive = (diplomat: Diplomat, service: string): boolean => {
			const found = diplomat.pick(service);
			return found !== undefined && found.stale !== true;
		};
		return this.#diplomats().filter(
			(diplomat) =>
				diplomat.status().state !== 'ready' || !this.#services.every((service) => isLive(diplomat, service)),
		).length;
	}
}
