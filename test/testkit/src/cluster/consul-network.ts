import { freePortsOf } from '../free-ports.ts';

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

/** Three ports that are free on all of the addresses. */
async function freePorts(addresses: readonly string[]): Promise<ConsulPorts> {
	const [http = 0, server = 0, serfLan = 0] = await freePortsOf(addresses, 3);
	return { http, server, serfLan };
}
