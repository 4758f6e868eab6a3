import { findConsul, type RealConsul, startConsul } from '@spock/testkit';

/** A Consul on the loopback of the pod, that knows two instances of `barista`. */
export async function startBaristaConsul(): Promise<RealConsul> {
	const consul = await startConsul({ binary: findConsul(process.env) });
	const check = { Status: 'passing', TTL: '1h' };
	for (const id of ['barista-1', 'barista-2']) {
		const instance = { ID: id, Name: 'barista', Address: '127.0.0.1', Port: 8765, Check: check };
		await consul.put('/v1/agent/service/register', instance);
	}
	return consul;
}
