import { type Clock, stringOption } from '@spock/protocol/internal';

import { type ConsulAddress, parseConsulAddress } from './consul-address.ts';
import type { ConsulCall } from './consul-call.ts';
import {
	type ConsulClient,
	connectionRefused,
	createClient,
	destroyClient,
	hasFurtherSources,
	isMultiplexed,
	retireClient,
	widenClient,
} from './consul-client.ts';
import type { ConsulConnectionOptions } from './consul-options.ts';
import type { RoomLeft } from './further-sources.ts';
import { TlsFiles, type TlsFilesOptions, type TlsSecrets } from './tls-files.ts';

/** One address and the client that talks to it. */
export class ConsulEndpoint {
	readonly address: ConsulAddress;
	readonly #tls: TlsFiles;
	readonly #options: TlsFilesOptions['tls'];
	#socketsMax: number;
	readonly #clock: Clock;
	#secrets: TlsSecrets;
	#client: ConsulClient;
	readonly #basicAuth: string | undefined;

	constructor(
		address: ConsulAddress,
		tls: TlsFiles,
		options: TlsFilesOptions['tls'],
		socketsMax: number,
		clock: Clock,
		basicAuth: string | undefined,
	) {
		this.address = address;
		this.#tls = tls;
		this.#options = options;
		this.#secrets = tls.secrets;
		this.#socketsMax = socketsMax;
		this.#clock = clock;
		this.#basicAuth = basicAuth;
		this.#client = this.#createClient();
	}

	/** The client for the next call: another one when the TLS files have changed. Calls in flight end on the one before. */
	async client(): Promise<ConsulClient> {
		if (!this.address.secure) return this.#client;
		await this.#tls.look();
		if (this.#secrets !== this.#tls.secrets) {
			this.#secrets = this.#tls.secrets;
			retireClient(this.#client);
			this.#client = this.#createClient();
		}
		return this.#client;
	}

	/** Allows so many connections at once from now on. */
	widen(socketsMax: number): void {
		this.#socketsMax = socketsMax;
		widenClient(this.#client, socketsMax);
	}

	/** Whether it takes a connection for hundreds of calls, and not for each. */
	async isMultiplexed(): Promise<boolean> {
		return this.address.secure && (await isMultiplexed(this.#client));
	}

	/** Whether it takes connections from further addresses of this machine, so that its limit for one address is none. */
	hasFurtherSources(): Promise<boolean> {
		return hasFurtherSources(this.#client);
	}

	/** A connection for this call was refused because there are too many. */
	refused(call: ConsulCall): Promise<RoomLeft> {
		return connectionRefused(this.#client, call);
	}

	#createClient(): ConsulClient {
		return createClient(this.address, this.#secrets, this.#options, this.#socketsMax, this.#clock, this.#basicAuth);
	}

	/** Cuts every connection. */
	close(): void {
		destroyClient(this.#client);
	}
}

/** The endpoints of the given addresses. Throws a TypeError naming the option, or an Error if a TLS file is bad. */
export function createEndpoints(
	addresses: readonly string[],
	socketsMax: number,
	{
		tls = {},
		basicAuth,
		onEvent,
		clock,
	}: Pick<ConsulConnectionOptions, 'tls' | 'basicAuth' | 'onEvent'> & Pick<TlsFilesOptions, 'clock'>,
): readonly ConsulEndpoint[] {
	if (addresses.length === 0) throw new TypeError('addresses must name at least one Consul address');
	const files = new TlsFiles({ tls, clock, onEvent });
	return addresses.map(
		(text, number) =>
			new ConsulEndpoint(
				parseConsulAddress(stringOption(`addresses[${number}]`, text)),
				files,
				tls,
				socketsMax,
				clock,
				basicAuth,
			),
	);
}
