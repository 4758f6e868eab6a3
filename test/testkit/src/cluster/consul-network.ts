import { createServer } from 'node:net';

/** The ports of every agent of a cluster: the same ones, at different addresses. */
export interface ConsulPorts {
	readonly http: number;
	readonly server: number;
	readonly serfLan: number;
}

/** Where the agents of a cluster live. The owner disposes it after the cluster. */
export interface ConsulNetwork extends AsyncDisposable {
	/** One address for each agent, by its number. */
	readonly addresses: readonly string[];
	readonly ports: ConsulPorts;
	/** The command that runs a program where the agent with this number lives. */
	command(agent: number, command: readonly string[]): readonly string[];
}

/** 127.0.0.1, 127.0.0.2 and so on, with ports that are free on all of them. Linux only: elsewhere there is one loopback. */
export async function loopbackNetwork(size: number): Promise<ConsulNetwork> {
	const addresses = Array.from({ length: size }, (_, number) => `127.0.0.${number + 1}`);
	return {
		addresses,
		ports: await freePorts(addresses),
		command: (_, command) => command,
		[Symbol.asyncDispose]: () => Promise.resolve(),
	};
}

/** Three ports, none of which anybody listens at on any of the addresses. */
async function freePorts(addresses: readonly string[]): Promise<ConsulPorts> {
	const [first = '', ...others] = addresses;
	const found: number[] = [];
	// Held until all are found, so that they differ.
	const held: Listening[] = [];
	try {
		while (found.length < 3) {
			const listening = await listen(first, 0);
			held.push(listening);
			const beside = await Promise.allSettled(others.map((address) => listen(address, listening.port)));
			for (const outcome of beside) if (outcome.status === 'fulfilled') held.push(outcome.value);
			if (beside.every(({ status }) => status === 'fulfilled')) found.push(listening.port);
		}
	} finally {
		await Promise.all(held.map(({ close }) => close()));
	}
	const [http = 0, server = 0, serfLan = 0] = found;
	return { http, server, serfLan };
}

interface Listening {
	readonly port: number;
	close(): Promise<void>;
}

function listen(host: string, port: number): Promise<Listening> {
	return new Promise((resolve, reject) => {
		const server = createServer();
		server.once('error', reject);
		server.listen(port, host, () => {
			resolve({
				port: (server.address() as { readonly port: number }).port,
				close: () => new Promise((closed) => server.close(() => closed())),
			});
		});
	});
}
