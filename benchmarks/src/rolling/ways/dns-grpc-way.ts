import { experimental } from '@grpc/grpc-js';
import { systemClock, type TimerHandle } from '@spock/protocol/internal';

import { type ClientSettings, GRPC_SERVICE } from '../rolling-messages.ts';
import { DnsAnswers } from './dns-answers.ts';
import type { Way } from './way.ts';
import { WorkClient } from './work-client.ts';

const SCHEME = 'bench-dns';

/** One channel of grpc-js over what DNS tells. */
export async function openDnsGrpcWay({ socket, dnsTtlMs }: ClientSettings): Promise<Way> {
	const dns = await DnsAnswers.open(socket, GRPC_SERVICE, 0);
	experimental.registerResolver(SCHEME, resolverOver(dns, dnsTtlMs));
	const client = new WorkClient(`${SCHEME}:///${GRPC_SERVICE}`);
	return {
		call: () => client.call(),
		retries: () => client.retries,
		close: async () => {
			client.close();
			await dns.close();
		},
	};
}

type ResolverClass = Parameters<typeof experimental.registerResolver>[1];

/**
 * Resolves as the `dns:` resolver of grpc-js does: when the channel asks, which is at its start and when a connection is
 * lost, and not again before its pause is over. That pause is 30 s by default in grpc-js; here it is the time to live.
 */
function resolverOver(dns: DnsAnswers, pauseMs: number): ResolverClass {
	return class implements experimental.Resolver {
		readonly #listener: experimental.ResolverListener;
		#pause: TimerHandle | undefined;
		#isAsked = false;

		static getDefaultAuthority({ path }: experimental.GrpcUri): string {
			return path;
		}

		constructor(_target: experimental.GrpcUri, listener: experimental.ResolverListener) {
			this.#listener = listener;
		}

		updateResolution(): void {
			this.#isAsked = true;
			if (this.#pause === undefined) void this.#resolve();
		}

		destroy(): void {
			systemClock.clearTimeout(this.#pause);
			this.#pause = undefined;
			this.#isAsked = false;
		}

		async #resolve(): Promise<void> {
			this.#isAsked = false;
			this.#pause = systemClock.setTimeout(() => {
				this.#pause = undefined;
				if (this.#isAsked) void this.#resolve();
			}, pauseMs);
			const addresses = await dns.all();
			const endpoints = addresses.map((address) => ({ addresses: [address] }));
			this.#listener(experimental.statusOrFromValue(endpoints), {}, null, '');
		}
	};
}
