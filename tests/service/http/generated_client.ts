// Drives a server with the client that was generated from its description: node FILE URL KEY
import {
    addArms,
    createBandit,
    decide,
    decideAll,
    deleteBandit,
    explainDecision,
    getBandit,
    getDecision,
    getVerdict,
    health,
    listBandits,
    listDecisions,
    readLog,
    retireArm,
    tell,
    tellAll,
    type CreateBody,
    type DecisionAnswer,
    type ProblemBody,
} from "./superarm";
import { client } from "./superarm/client.gen";

declare const process: { argv: string[] };

function same(found: unknown, wanted: unknown) {
    const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
    if (one !== other) throw new Error(`expected ${other}, got ${one}`);
}

function only(answer: DecisionAnswer | { decisions: Array<DecisionAnswer> } | null | undefined) {
    if (!answer || "decisions" in answer) throw new Error("expected one decision");
    return answer;
}

async function main(url: string, key: string) {
    client.setConfig({ baseUrl: url });
    same((await health({ throwOnError: true })).data.status, "ok");
    same((await listBandits()).response.status, 401);
    client.setConfig({ baseUrl: url, auth: key });

    const body: CreateBody = {
        name: "generated",
        arms: ["tea", "cup", "jam"],
        k: 2,
        belief: { kind: "beta", prior: [1, 2] },
        seed: 1,
    };
    const made = await createBandit({ body, throwOnError: true });
    const id = made.data.id;
    same(made.response.headers.get("Location"), `/v1/bandits/${id}`);
    same((await createBandit({ body })).response.headers.get("Idempotent-Replayed"), "true");
    same((await getBandit({ path: { id }, throwOnError: true })).data.posterior.length, 3);
    const named = await listBandits({ query: { name: "generated" }, throwOnError: true });
    same([named.data.bandits.map((bandit) => bandit.id), named.data.next], [[id], null]);

    const asked = {
        path: { id },
        body: { must: ["jam"], weights: { tea: 2 }, capacity: 1, metadata: { page: "front" } },
        headers: { "Idempotency-Key": "first" },
    };
    const [first, again] = [await decide(asked), await decide(asked)];
    const decision = only(first.data);
    same(only(again.data).id, decision.id);
    same([decision.arms.slice().sort(), decision.metadata], [["cup", "jam"], { page: "front" }]);
    const told = await tell({
        path: { id: decision.id },
        body: { outcomes: { jam: 1, cup: 0 } },
        throwOnError: true,
    });
    same([told.data.new.sort(), told.data.status], [["cup", "jam"], "told"]);
    const found = await getDecision({ path: { id: decision.id }, throwOnError: true });
    same([found.data.outcomes.jam, found.data.outcomes.cup], [1, 0]);
    const why = await explainDecision({ path: { id: decision.id }, throwOnError: true });
    same(why.data.reasons.length, 2);

    const decisions = [{ bandit: id }, { bandit: "nobody" }, { bandit: id, k: 1 }];
    const many = await decideAll({ body: { decisions }, throwOnError: true });
    const [one, refused, other] = many.data.results;
    same(refused.problem?.type, "urn:superarm:bandit-unknown");
    const outcomes = [one, other]
        .map((result) => only(result.answer))
        .map(({ id, arms }) => ({ decision: id, outcomes: { [arms[0]]: 0.5 } }));
    const learnt = await tellAll({ body: { outcomes }, throwOnError: true });
    same(learnt.data.results.map((result) => result.answer?.status), ["open", "told"]);

    let before: string | undefined;
    const numbers: Array<number> = [];
    do {
        const page = await listDecisions({
            path: { id },
            query: { limit: 2, before },
            throwOnError: true,
        });
        numbers.push(...page.data.decisions.map((listed) => listed.round));
        before = page.data.next ?? undefined;
    } while (before);
    same(numbers, [3, 2, 1]);

    const taken = await createBandit({ body: { ...body, k: 1 } });
    const problem: ProblemBody | undefined = taken.error;
    same([problem?.status, problem?.type], [409, "urn:superarm:name-taken"]);
    const wrong = await decide({ path: { id }, body: { k: 0 } });
    same(wrong.error?.errors?.map((place) => [place.at, place.got]), [["k", "0"]]);
    const verdict = await getVerdict({ path: { id }, query: { delta: 0.1 } });
    same([verdict.response.status, verdict.data?.done], [200, false]);

    same((await addArms({ path: { id }, body: { arms: ["a/b"] } })).data?.added, ["a/b"]);
    same((await retireArm({ path: { id, name: "a/b" } })).data?.n_retired, 1);
    const log = await readLog({ path: { id }, parseAs: "text", throwOnError: true });
    // Outcomes that come in one request are one event.
    same(log.data.trim().split("\n").length, 8);

    const gone = await deleteBandit({ path: { id }, query: { name: "generated" } });
    same(gone.response.status, 204);
    same((await getBandit({ path: { id } })).error?.type, "urn:superarm:bandit-deleted");
}

main(process.argv[2], process.argv[3]);
