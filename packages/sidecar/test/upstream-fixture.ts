import { type Backend, BackendSource, consulBackend, Registrations } from '@spock/discovery';
import type { Clock } from '@spock/protocol/internal';
import { createSidecar, type Sidecar, type TokenCheck } from '@spock/sidecar';
import { type FakeConsul, startFakeConsul, TcpGate } from '@spock/testkit';

import { UpstreamBackend, type UpstreamBackendOptions } from '../src/upstream/upstream-backend.ts';

/** Retries come at once, because the random number is 0: nothing here waits for a back-off. */
const random = (): number => 0;

/** A registry, a sidecar that asks it, and a gate before each: both can be away. */
export interface SharedSidecar extends AsyncDisposable {
	readonly consul: FakeConsul;
	readonly registryGate: TcpGate;
	readonly gate: TcpGate;
	readonly sidecar: Sidecar;
	readonly source: BackendSource;
	/** The address of the gate before the sidecar. */
	readonly place: UpstreamBackendOptions['places'][number];
}

/** A sidecar that other sidecars ask. With `backend` it asks that one; else a registry of its own. */
export async function sharedSidecar(
	options: {
		readonly instance?: string;
		readonly backend?: Backend;
		readonly consul?: FakeConsul;
		readonly tokens?: TokenCheck;
		/** Default: the clock of the process. */
		readonly clock?: Clock;
	} = {},
): Promise<SharedSidecar> {
	const consul = options.consul ?? (await startFakeConsul({ isStrict: true }));
	const registryGate = await TcpGate.open(Number(new URL(consul.url).port));
	const backend: Backend = options.backend ?? consulBackend({ addresses: [registryGate.url], random });
	const source = new BackendSource({ backend, firstAnswerMs: 300, emptyHoldMs: 0 });
	const { registrar } = backend;
	const sidecar = createSidecar({
		source,
		listen: [{ address: { host: '127.0.0.1', port: 0 }, ...(options.tokens && { tokens: options.tokens }) }],
		limits: { graceMs: 0 },
		...(registrar && { registrations: new Registrations({ registrar, owner: `owner of ${registryGate.url}` }) }),
		...(options.instance && { instance: options.instance }),
		...(options.clock && { clock: options.clock }),
		...(options.backend instanceof UpstreamBackend && { upstreams: options.backend }),
	});
	const [address = ''] = await sidecar.start();
	const gate = await TcpGate.open(Number(address.split(':').at(-1)));
	const { host, port } = { host: '127.0.0.1', port: Number(new URL(gate.url).port) };
	return {
		...{ consul, registryGate, gate, sidecar, source },
		place: { name: `${host}:${port}`, address: { host, port } },
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await gate.shut();
			await registryGate.shut();
			if (options.consul === undefined) await consul.stop();
		},
	};
}

/** A backend that asks these sidecars. */
export function upstreamOf(
	shared: readonly Pick<SharedSidecar, 'place'>[],
	options: Partial<UpstreamBackendOptions> = {},
): UpstreamBackend {
	return new UpstreamBackend({ places: shared.map(({ place }) => place), sidecar: 'the-one-that-asks', ...options });
}
