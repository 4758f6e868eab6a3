/** How the name of the gauge ends; the host may stand before it. */
const METRIC = 'rpc.queries_blocking';

/**
 * Blocking queries that a Consul server says it handles now; null while it has not said so in the last interval of its metrics.
 * Source: https://developer.hashicorp.com/consul/docs/agent/telemetry
 */
export async function blockingQueries(url: string): Promise<number | null> {
	const response = await fetch(`${url}/v1/agent/metrics`);
	if (!response.ok) throw new Error(`Consul's metrics were answered ${response.status}`);
	const { Gauges } = (await response.json()) as { readonly Gauges: readonly { Name: string; Value: number }[] };
	return Gauges.find(({ Name }) => Name.endsWith(METRIC))?.Value ?? null;
}
