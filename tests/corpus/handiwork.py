"""More healthy texts, of what coding agents write and plan: migrations, schemas, manifests, catalogues, subtitles, proofs.

As in `everyday`: each maker takes a seeded Random, and `HANDIWORK` tells what it was asked for. None of it is a loop.
"""

# ruff: noqa: E501, E741, B905, SIM905, PIE808  (recipes of one line each read best unbroken)
from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from .everyday import ADJ, CITY, FIRST, LAST, NOUN, VERB, Everyday, S, hx, ip

HANDIWORK: dict[str, Everyday] = {}


def kind(prompt: str = "", channels: str = "tra"):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        HANDIWORK[make.__name__] = Everyday(make, prompt, channels)
        return make

    return noted


# fmt: off
FIELD = ['id', 'name', 'email', 'status', 'created_at', 'updated_at', 'price', 'quantity', 'currency', 'country', 'street', 'postal_code', 'phone', 'birth_date', 'locale', 'timezone', 'score', 'weight', 'height', 'depth', 'colour', 'brand', 'sku', 'barcode', 'notes', 'title', 'summary', 'body', 'author', 'editor', 'licence', 'checksum', 'mime_type', 'size', 'path', 'parent_id', 'position', 'enabled', 'expires_at', 'token', 'role', 'scope', 'region', 'zone', 'host', 'port', 'latency_ms', 'retries', 'total', 'tax', 'discount', 'due_date', 'paid_at', 'refunded', 'rating', 'comment', 'reply_to', 'latitude', 'longitude', 'altitude']
TYPE = ['integer', 'text', 'boolean', 'timestamptz', 'numeric(12,2)', 'uuid', 'jsonb', 'date', 'varchar(255)', 'bigint', 'smallint', 'inet', 'bytea']
TABLE = ['customers', 'orders', 'invoices', 'payments', 'products', 'suppliers', 'warehouses', 'shipments', 'returns', 'coupons', 'reviews', 'carts', 'sessions', 'employees', 'departments', 'projects', 'tasks', 'comments', 'attachments', 'tags', 'events', 'webhooks', 'api_keys', 'audit_log', 'subscriptions', 'plans', 'devices', 'sensors', 'readings', 'alerts']
DEED = ['creates', 'deletes', 'archives', 'restores', 'imports', 'exports', 'merges', 'splits', 'renames', 'approves', 'rejects', 'publishes', 'schedules', 'cancels', 'refunds', 'locks', 'shares', 'copies', 'moves', 'validates']
DE = 'Der Wind trägt den Rauch über die Dächer|Im Garten schläft der alte Hund|Morgens klingt die Glocke vom Turm|Die Kinder laufen zum Fluss hinab|Ein Boot zieht langsam gegen den Strom|Niemand fragt nach dem Weg zurück|Der Bäcker öffnet die schwere Tür|Das Brot riecht nach Herbst und Holz|Am Abend zählt sie die leeren Stühle|Ein Brief liegt ungelesen im Flur|Die Uhr geht vor, wie jedes Jahr|Schnee fällt auf die Gleise im Tal|Der Zug hält hier seit Jahren nicht|Doch einer winkt am Bahnsteig noch|So bleibt das Licht im Fenster wach'
FR = 'La mer recule et laisse ses coquilles|Un enfant ramasse le bruit des vagues|Le vieux pêcheur répare son filet|Sa femme chante derrière les volets|Le pain refroidit sur la table nue|Quelqu’un a perdu la clé du grenier|Dans la malle dorment trois chapeaux|La pluie écrit sur les ardoises grises|On attend le facteur jusqu’à midi|Il passe sans regarder la maison|Le chat traverse la cour en silence|La lampe s’allume chez les voisins|Demain nous irons cueillir des mûres|Le chemin sera long et plein de ronces|Mais la confiture aura le goût du soir'
ES = 'El río baja turbio de la sierra|Mi abuela cose junto a la ventana|Cuenta historias de un barco perdido|La radio habla de otra ciudad|Nadie contesta el teléfono negro|El perro duerme sobre los zapatos|Huele a café y a ropa mojada|Los niños dibujan soles torcidos|En la plaza venden naranjas dulces|Un ciego toca siempre el mismo vals|Las palomas conocen su sombrero|Cae la tarde como una moneda|Mi padre vuelve con barro en las botas|Trae en el bolsillo una piedra azul|La deja en la mesa sin decir nada'
IT = 'La nebbia sale piano dai canali|Un uomo conta i passi sul ponte|La barca ha dipinto il suo nome di rosso|Nel mercato gridano i prezzi del pesce|Mia zia sceglie i limoni con cura|Il campanile segna un’ora sbagliata|Due gatti dividono la stessa ombra|Le lenzuola sventolano come bandiere|Qualcuno suona Chopin al terzo piano|Il nipote impara a leggere le insegne|La sera porta odore di basilico|Si chiudono le botteghe una a una|Resta aperta la finestra del forno|Il pane parla nel buio a chi ha sonno|Poi tace anche l’acqua sotto le case'
RU = 'Снег ложится на чужие следы|Старый фонарь скрипит у ворот|Мать ставит чайник и молчит|За стеной играют гаммы с утра|Письмо идёт из города две недели|Дед чинит сапоги у окна|На подоконнике зреет лук|Кошка считает синиц во дворе|Вечером топят соседскую баню|Дым поднимается прямо как нить|Сын рисует корабль без парусов|Море он видел только в кино|Лампа мигает, но светит пока|Книга раскрыта на той же строке|Завтра обещают мороз и солнце'
JA = '朝の市場に魚が並ぶ|祖母は畳に新聞を広げる|遠くで踏切の音がする|猫が縁側で伸びをした|味噌汁の湯気が窓を曇らせる|弟は傘を忘れて走り出す|雨上がりの道に空が映る|郵便屋さんが手を振った|古い時計が三分遅れている|庭の柿はまだ青い|父は黙って鋸を研いでいる|夕方のラジオが天気を告げる|風鈴が一度だけ鳴った|明日は海へ行く約束だ|布団の中で潮の匂いを思う'
ZH = '清晨的巷子里飘着豆浆的香气|卖报的老人换了一顶新帽子|河边的柳树又绿了一层|孩子们追着一只黄色的风筝|母亲在阳台上晾着蓝布衫|邻居的收音机唱着旧戏|午后的阳光落在棋盘上|爷爷悔了一步又笑起来|雨点忽然敲响了铁皮屋顶|燕子低低地飞过电线|书桌上摊着没写完的信|钢笔的墨水快要用尽|夜里火车从远山经过|月亮像一枚生锈的硬币|明天我们去看稻田'

def poem(lines):
    def make(r):
        said = lines.split('|')
        one = said[:]
        r.shuffle(one)
        return '\n\n'.join('\n'.join(part) for part in (said[:4], said[4:8], said[8:12], said[12:])) + '\n\n—\n\n' + '\n'.join(one[:6])
    return make

for _name, _lines in {'de': DE, 'fr': FR, 'es': ES, 'it': IT, 'ru': RU, 'ja': JA, 'zh': ZH}.items():
    HANDIWORK[f'poem_{_name}'] = Everyday(poem(_lines), '', 'tra')

def camel(name):
    return ''.join(part.title() for part in name.split('_'))

def some(r, words, low, high):
    return r.sample(words, r.randint(low, high))

@kind('Write the SQL migration for the shop')
def migration_sql(r):
    return '\n\n'.join(f'-- {n:04d}_{t}\nCREATE TABLE {t} (\n' + ',\n'.join(f'    {f} {r.choice(TYPE)}{r.choice(["", " NOT NULL", " DEFAULT NULL", " UNIQUE"])}' for f in some(r, FIELD, 5, 9)) + f'\n);\nCREATE INDEX idx_{t}_{r.choice(FIELD)} ON {t} USING btree ({r.choice(FIELD)});' for n, t in enumerate(some(r, TABLE, 12, 16), 1))

@kind()
def migration_down(r):
    return '\n'.join(f'ALTER TABLE {t} DROP COLUMN IF EXISTS {f};' for t in TABLE for f in some(r, FIELD, 2, 4)) + '\n' + '\n'.join(f'DROP TABLE IF EXISTS {t} CASCADE;' for t in reversed(TABLE))

@kind()
def migration_alembic(r):
    return '\n\n'.join(f'def upgrade_{n}() -> None:\n    op.create_table(\n        "{t}",\n' + ''.join(f'        sa.Column("{f}", sa.{r.choice(["Integer", "String(80)", "Boolean", "DateTime", "Text"])}(), nullable={r.choice(["True", "False"])}),\n' for f in some(r, FIELD, 5, 9)) + f'    )\n\n\ndef downgrade_{n}() -> None:\n    op.drop_table("{t}")' for n, t in enumerate(some(r, TABLE, 8, 10)))

@kind()
def migration_django(r):
    return 'operations = [\n' + ''.join(f'    migrations.AddField(\n        model_name="{t[:-1]}",\n        name="{f}",\n        field=models.{r.choice(["CharField(max_length=255, blank=True)", "BooleanField(default=False)", "IntegerField(null=True)", "DateTimeField(auto_now=True)"])},\n    ),\n' for t in some(r, TABLE, 10, 10) for f in some(r, FIELD, 2, 3)) + ']'

@kind()
def prisma(r):
    return '\n\n'.join(f'model {camel(t)} {{\n  id        String   @id @default(cuid())\n  createdAt DateTime @default(now())\n' + ''.join(f'  {f:<12} {r.choice(["String", "Int", "Boolean", "DateTime?", "Float?"])}\n' for f in some(r, FIELD, 4, 7)) + f'\n  @@index([{r.choice(FIELD)}])\n}}' for t in some(r, TABLE, 12, 14))

@kind('Translate our catalogue into German as YAML')
def i18n_yaml(r):
    return 'de:\n' + ''.join(f'  {t}:\n' + ''.join(f'    {v}_{n}: "{a.title()} {n} {v}"\n' for v, n, a in zip(some(r, DEED, 8, 8), some(r, NOUN, 8, 8), some(r, ADJ, 8, 8))) for t in some(r, TABLE, 10, 10))

@kind()
def strings_android(r):
    return '<resources>\n' + ''.join(f'    <string name="{n}_{v}">{S(r)}</string>\n' for n in some(r, NOUN, 12, 12) for v in some(r, DEED, 3, 4)) + '</resources>'

@kind()
def strings_ios(r):
    return '\n'.join(f'/* Label of the {a} {n} button */\n"{n}.{a}.title" = "{S(r)}";' for n, a in zip(some(r, NOUN, 40, 40), [r.choice(ADJ) for _ in range(40)]))

@kind()
def fluent(r):
    return '\n'.join(f'{n}-{v} =\n    {{ $count ->\n        [one] One {n} {v}\n       *[other] {{ $count }} {n}s {a}\n    }}' for n, v, a in zip(some(r, NOUN, 40, 40), [r.choice(DEED) for _ in range(40)], [r.choice(ADJ) for _ in range(40)]))

@kind()
def po_plural(r):
    return '\n\n'.join(f'#: src/{n}/{v}.c:{r.randint(10, 900)}\nmsgid "{S(r)}"\nmsgstr "{S(r)}"' for n, v in zip(some(r, NOUN, 35, 35), [r.choice(DEED) for _ in range(35)]))

@kind('Write the OpenAPI spec')
def openapi_paths(r):
    return 'paths:\n' + ''.join(f'  /{t}/{{id}}:\n    get:\n      operationId: get{camel(t)}\n      summary: {S(r)}\n      parameters:\n        - name: id\n          in: path\n          required: true\n          schema: {{type: string, format: uuid}}\n        - name: {r.choice(FIELD)}\n          in: query\n          schema: {{type: integer, minimum: {r.randint(0, 9)}}}\n      responses:\n        "200":\n          description: {S(r)}\n        "404":\n          description: Not found\n' for t in some(r, TABLE, 16, 16))

@kind()
def openapi_json(r):
    return json.dumps({'components': {'schemas': {camel(t): {'type': 'object', 'required': some(r, FIELD, 2, 3), 'properties': {f: {'type': r.choice(['string', 'integer', 'boolean']), 'description': S(r)} for f in some(r, FIELD, 4, 6)}} for t in some(r, TABLE, 10, 10)}}}, indent=2)

@kind()
def asyncapi(r):
    return 'channels:\n' + ''.join(f'  {t}.{v}:\n    subscribe:\n      message:\n        name: {camel(t)}{v.title()}\n        payload:\n          type: object\n          properties:\n' + ''.join(f'            {f}: {{type: {r.choice(["string", "number"])}}}\n' for f in some(r, FIELD, 3, 5)) for t, v in zip(some(r, TABLE, 16, 16), some(r, DEED, 16, 16)))

@kind()
def terraform_rules(r):
    return '\n\n'.join(f'resource "aws_security_group_rule" "{n}_{p}" {{\n  type              = "ingress"\n  from_port         = {p}\n  to_port           = {p}\n  protocol          = "tcp"\n  cidr_blocks       = ["{ip(r)}/32"]\n  security_group_id = aws_security_group.{r.choice(NOUN)}.id\n}}' for n, p in zip(some(r, NOUN, 25, 25), r.sample(range(80, 9999), 25)))

@kind()
def terraform_vars(r):
    return '\n\n'.join(f'variable "{n}_{f}" {{\n  description = "{S(r)}"\n  type        = {r.choice(["string", "number", "bool"])}\n  default     = {r.choice(["null", "true", "10", chr(34) + r.choice(NOUN) + chr(34)])}\n}}' for n, f in zip(some(r, NOUN, 25, 25), some(r, FIELD, 25, 25)))

@kind()
def cloudformation(r):
    return 'Resources:\n' + ''.join(f'  {n.title()}{m.title()}:\n    Type: AWS::{r.choice(["SQS::Queue", "SNS::Topic", "S3::Bucket", "DynamoDB::Table", "Lambda::Function"])}\n    Properties:\n      Name: !Sub "${{AWS::StackName}}-{n}-{m}"\n      Tags:\n        - Key: team\n          Value: {r.choice(NOUN)}\n        - Key: cost\n          Value: "{r.randint(100, 999)}"\n' for n, m in zip(some(r, NOUN, 25, 25), some(r, NOUN, 25, 25)))

@kind('Give me the manifests for all services')
def k8s_services(r):
    return '---\n'.join(f'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {n}\n  labels: {{app: {n}, tier: {r.choice(ADJ)}}}\nspec:\n  replicas: {r.randint(1, 9)}\n  selector:\n    matchLabels: {{app: {n}}}\n  template:\n    metadata:\n      labels: {{app: {n}}}\n    spec:\n      containers:\n        - name: {n}\n          image: images.example.com/{n}:{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}\n          ports: [{{containerPort: {r.randint(3000, 9999)}}}]\n' for n in some(r, NOUN, 12, 12))

@kind()
def k8s_rbac(r):
    return '---\n'.join(f'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {n}-{a}\n  namespace: {r.choice(NOUN)}\nrules:\n' + ''.join(f'  - apiGroups: ["{g}"]\n    resources: [{", ".join(some(r, ["pods", "secrets", "configmaps", "jobs", "services", "ingresses"], 1, 3))}]\n    verbs: [{", ".join(some(r, ["get", "list", "watch", "create", "update", "patch", "delete"], 2, 4))}]\n' for g in some(r, ['', 'apps', 'batch', 'networking.k8s.io'], 2, 3)) for n, a in zip(some(r, NOUN, 14, 14), some(r, ADJ, 14, 14)))

@kind()
def helm_values(r):
    return ''.join(f'{n}:\n  enabled: {r.choice(["true", "false"])}\n  image:\n    repository: {r.choice(NOUN)}/{n}\n    tag: "{r.randint(1, 9)}.{r.randint(0, 30)}"\n  resources:\n    limits: {{cpu: {r.randint(1, 20) * 50}m, memory: {r.choice([128, 256, 512, 768, 1024])}Mi}}\n  nodeSelector: {{}}\n  tolerations: []\n' for n in some(r, NOUN, 22, 22))

@kind()
def compose(r):
    return 'services:\n' + ''.join(f'  {n}:\n    image: {r.choice(NOUN)}:{r.randint(1, 20)}\n    restart: unless-stopped\n    environment:\n      {r.choice(FIELD).upper()}: {r.choice(ADJ)}\n      {r.choice(FIELD).upper()}_URL: http://{r.choice(NOUN)}:{r.randint(1000, 9999)}\n    depends_on: [{r.choice(NOUN)}]\n    volumes:\n      - ./{n}:/data\n' for n in some(r, NOUN, 22, 22))

@kind()
def github_actions(r):
    return 'jobs:\n' + ''.join(f'  {n}:\n    runs-on: ubuntu-latest\n    needs: {r.choice(NOUN)}\n    steps:\n      - uses: actions/checkout@v4\n      - uses: actions/setup-node@v4\n        with: {{node-version: {r.choice([18, 20, 22])}}}\n      - run: npm ci\n      - run: npm run {r.choice(DEED)}:{r.choice(NOUN)}\n' for n in some(r, NOUN, 18, 18))

@kind()
def ansible(r):
    return ''.join(f'- name: {S(r)}\n  ansible.builtin.{r.choice(["copy", "template", "file", "lineinfile"])}:\n    src: files/{n}.conf\n    dest: /etc/{r.choice(NOUN)}/{n}.conf\n    owner: root\n    group: root\n    mode: "0644"\n  notify: restart {r.choice(NOUN)}\n' for n in some(r, NOUN, 22, 22))

@kind()
def systemd_units(r):
    return '\n\n'.join(f'# {n}.service\n[Unit]\nDescription={S(r)}\nAfter=network-online.target\n\n[Service]\nExecStart=/usr/bin/{n} --{r.choice(FIELD)}={r.randint(1, 99)}\nRestart=on-failure\nUser={r.choice(FIRST).lower()}\n\n[Install]\nWantedBy=multi-user.target' for n in some(r, NOUN, 14, 14))

@kind('Make a page grid in CSS')
def css_grid(r):
    return '\n\n'.join(f'.{n}-{a} {{\n  grid-area: {i} / {r.randint(1, 6)} / {i + r.randint(1, 3)} / {r.randint(7, 12)};\n  background: #{hx(r, 6)};\n  padding: {r.randint(1, 40)}px {r.randint(1, 40)}px;\n  border-radius: {r.randint(0, 20)}px;\n}}' for i, (n, a) in enumerate(zip(some(r, NOUN, 26, 26), some(r, ADJ, 26, 26)), 1))

@kind()
def css_utilities(r):
    return '\n'.join(f'.{p}{s}-{n} {{ {full}{side}: {n * 0.25:g}rem; }}' for p, full in (('m', 'margin'), ('p', 'padding')) for s, side in (('t', '-top'), ('r', '-right'), ('b', '-bottom'), ('l', '-left')) for n in range(0, 13))

@kind()
def scss_map(r):
    return '$palette: (\n' + ''.join(f'  "{a}-{n}": #{hx(r, 6)},\n' for a, n in zip([r.choice(ADJ) for _ in range(60)], some(r, NOUN, 60, 60))) + ');'

@kind()
def select_options(r):
    return '<select>\n' + ''.join(f'  <option value="{c[:2].upper()}{i}">{c} ({r.choice(ADJ)} {r.choice(NOUN)})</option>\n' for i, c in enumerate(CITY)) + '</select>'

@kind()
def form_fields(r):
    return ''.join(f'<div class="field">\n  <label for="{f}">{f.replace("_", " ").title()}</label>\n  <input id="{f}" name="{f}" type="{r.choice(["text", "number", "date", "email"])}" placeholder="{r.choice(ADJ)} {r.choice(NOUN)}" required>\n</div>\n' for f in some(r, FIELD, 24, 24))

@kind()
def jsx(r):
    return ''.join(f'export function {camel(n + "_" + m)}({{ {r.choice(FIELD)}, onClose }}: Props) {{\n  const [{a}, set{a.title()}] = useState<{r.choice(["string", "number", "boolean"])} | null>(null);\n  return (\n    <Card title="{S(r)}">\n      <Button onClick={{() => set{a.title()}(null)}}>{r.choice(VERB)}</Button>\n    </Card>\n  );\n}}\n\n' for n, m, a in zip(some(r, NOUN, 14, 14), some(r, NOUN, 14, 14), some(r, ADJ, 14, 14)))

@kind()
def storybook(r):
    return '\n\n'.join(f'export const {a.title()}{n.title()}: Story = {{\n  args: {{\n    label: "{S(r)}",\n    size: "{r.choice(["sm", "md", "lg"])}",\n    disabled: {r.choice(["true", "false"])},\n  }},\n}};' for a, n in zip(some(r, ADJ, 26, 26), some(r, NOUN, 26, 26)))

@kind('Write a GraphQL schema')
def graphql(r):
    return '\n\n'.join(f'"""{S(r)}"""\ntype {camel(t)} implements Node {{\n  id: ID!\n' + ''.join(f'  {f}: {r.choice(["String", "Int!", "Boolean!", "Float", "DateTime!"])}\n' for f in some(r, FIELD, 4, 7)) + f'  {r.choice(TABLE)}(first: Int, after: String): {camel(r.choice(TABLE))}Connection!\n}}' for t in some(r, TABLE, 14, 14))

@kind()
def graphql_inputs(r):
    return '\n\n'.join(f'input {camel(v)}{camel(t)}Input {{\n  clientMutationId: String\n' + ''.join(f'  {f}: {r.choice(["String!", "Int", "Boolean"])}\n' for f in some(r, FIELD, 3, 5)) + f'}}\n\ntype {camel(v)}{camel(t)}Payload {{\n  {t[:-1]}: {camel(t)}\n  errors: [UserError!]!\n}}' for v, t in zip(some(r, DEED, 14, 14), some(r, TABLE, 14, 14)))

@kind()
def proto_services(r):
    return '\n\n'.join(f'service {camel(t)} {{\n' + ''.join(f'  rpc {v.title()}{camel(r.choice(NOUN))}({v.title()}Request) returns (stream {v.title()}Response);\n' for v in some(r, DEED, 4, 6)) + f'}}\n\nmessage {camel(t)}Filter {{\n' + ''.join(f'  {r.choice(["string", "int64", "bool"])} {f} = {i};\n' for i, f in enumerate(some(r, FIELD, 4, 7), 1)) + '}' for t in some(r, TABLE, 10, 10))

@kind()
def avro(r):
    return json.dumps([{'type': 'record', 'name': camel(t), 'fields': [{'name': f, 'type': ['null', r.choice(['string', 'int', 'long'])], 'default': None, 'doc': f'{r.choice(ADJ)} {r.choice(NOUN)}'} for f in some(r, FIELD, 5, 7)]} for t in some(r, TABLE, 9, 9)], indent=1)

@kind()
def jsonschema_enum(r):
    return json.dumps({'oneOf': [{'const': f'{a}-{n}', 'title': f'{a} {n}', 'description': S(r)} for a, n in zip([r.choice(ADJ) for _ in range(36)], some(r, NOUN, 36, 36))]}, indent=2)

@kind()
def ts_interfaces(r):
    return '\n\n'.join(f'export interface {camel(t)} {{\n' + ''.join(f'  {f}{r.choice(["", "?"])}: {r.choice(["string", "number", "boolean", "Date", "string[]"])};\n' for f in some(r, FIELD, 6, 9)) + '}' for t in some(r, TABLE, 14, 14))

@kind()
def ts_enum(r):
    return 'export enum Event {\n' + ''.join(f'  {t.upper()}_{v.upper()} = "{t}.{v}",\n' for t in some(r, TABLE, 12, 12) for v in some(r, DEED, 5, 6)) + '}'

@kind()
def zod(r):
    return '\n'.join(f'export const {t}Schema = z.object({{\n' + ''.join(f'  {f}: z.{r.choice(["string().min(1)", "number().int()", "boolean()", "string().email()", "date().nullable()"])},\n' for f in some(r, FIELD, 4, 7)) + '});' for t in some(r, TABLE, 14, 14))

@kind()
def go_structs(r):
    return '\n\n'.join(f'// {camel(t)} {S(r)}\ntype {camel(t)} struct {{\n' + ''.join(f'\t{camel(f)} {r.choice(["string", "int64", "bool", "time.Time"])} `json:"{f},omitempty" db:"{f}"`\n' for f in some(r, FIELD, 5, 8)) + '}' for t in some(r, TABLE, 11, 11))

@kind()
def rust_match(r):
    return 'match event {\n' + ''.join(f'    Event::{camel(t)}{v.title()} {{ {f}, .. }} => self.{t}.{v}({f}).await?,\n' for t, v, f in zip([r.choice(TABLE) for _ in range(50)], [r.choice(DEED) for _ in range(50)], some(r, FIELD, 50, 50))) + '}'

@kind()
def java_builder(r):
    return '\n\n'.join(f'    public Builder with{camel(f)}({r.choice(["String", "int", "boolean", "Instant"])} {f}) {{\n        this.{f} = Objects.requireNonNull({f}, "{f} must not be null");\n        return this;\n    }}' for f in some(r, FIELD, 24, 24))

@kind()
def c_defines(r):
    return '\n'.join(f'#define {n.upper()}_{a.upper()}_{f.upper()} 0x{hx(r, 4).upper()}' for n, a, f in zip(some(r, NOUN, 60, 60), [r.choice(ADJ) for _ in range(60)], [r.choice(FIELD) for _ in range(60)]))

@kind()
def vhdl(r):
    return '\n'.join(f'  signal {n}_{a} : std_logic_vector({r.choice([7, 15, 31])} downto 0) := (others => \'0\');' for n, a in zip(some(r, NOUN, 40, 40), [r.choice(ADJ) for _ in range(40)])) + '\n' + '\n'.join(f'      when "{i:05b}" => {r.choice(NOUN)} <= {r.choice(NOUN)} xor x"{hx(r, 4)}";' for i in range(32))

@kind('Make a LaTeX table')
def latex_table(r):
    return '\\begin{tabular}{lrrr}\n\\toprule\nName & Mean & Median & Share \\\\\n\\midrule\n' + ''.join(f'{a.title()} {n} & {r.uniform(0, 99):.2f} & {r.uniform(0, 99):.1f} & {r.randint(1, 99)}\\% \\\\\n' for a, n in zip([r.choice(ADJ) for _ in range(45)], some(r, NOUN, 45, 45))) + '\\bottomrule\n\\end{tabular}'

@kind()
def latex_items(r):
    return '\\begin{enumerate}\n' + ''.join(f'  \\item \\textbf{{{a.title()} {n}.}} {S(r)} See Section~\\ref{{sec:{n}}}.\n' for a, n in zip([r.choice(ADJ) for _ in range(26)], some(r, NOUN, 26, 26))) + '\\end{enumerate}'

@kind()
def latex_align(r):
    return '\\begin{align}\n' + ''.join(f'  \\frac{{\\partial L}}{{\\partial {r.choice("abcwxyz")}_{{{i}}}}} &= \\sum_{{j=1}}^{{{r.randint(3, 90)}}} {r.choice("abcuv")}_{{j}} \\left({r.choice("pqrs")}_{{j,{i}}} - {r.uniform(0, 5):.2f}\\right) \\\\\n' for i in range(1, 31)) + '\\end{align}'

@kind('Give me the references as BibTeX')
def bibtex_long(r):
    return '\n\n'.join(f'@article{{{l.lower()}{y}{n},\n  author  = {{{l}, {f} and {r.choice(LAST)}, {r.choice(FIRST)}}},\n  title   = {{{S(r)[:-1]}}},\n  journal = {{Journal of {r.choice(ADJ).title()} {r.choice(NOUN).title()}}},\n  volume  = {{{r.randint(1, 90)}}},\n  pages   = {{{r.randint(1, 400)}--{r.randint(401, 900)}}},\n  year    = {{{y}}}\n}}' for l, f, y, n in zip(some(r, LAST, 18, 18), some(r, FIRST, 18, 18), [r.randint(1980, 2024) for _ in range(18)], some(r, NOUN, 18, 18)))

@kind()
def ris(r):
    return '\n'.join(f'TY  - JOUR\nAU  - {l}, {f}\nTI  - {S(r)}\nJO  - {r.choice(ADJ)} {r.choice(NOUN)} review\nVL  - {r.randint(1, 80)}\nPY  - {r.randint(1970, 2024)}\nER  - \n' for l, f in zip(some(r, LAST, 20, 20), some(r, FIRST, 20, 20)))

@kind('Make an ics calendar of the season')
def ics(r):
    return 'BEGIN:VCALENDAR\nVERSION:2.0\n' + ''.join(f'BEGIN:VEVENT\nUID:{hx(r, 12)}@example.com\nDTSTAMP:20261130T090000Z\nDTSTART:2026{r.randint(1, 12):02d}{r.randint(1, 28):02d}T{r.randint(8, 18):02d}0000Z\nSUMMARY:{S(r)}\nLOCATION:{r.choice(CITY)}\nEND:VEVENT\n' for _ in range(22)) + 'END:VCALENDAR'

@kind()
def vtt(r):
    t = 0
    out = ['WEBVTT', '']
    for _ in range(40):
        a = t
        t += r.randint(1500, 5000)
        out += [f'{a // 60000:02d}:{a // 1000 % 60:02d}.{a % 1000:03d} --> {t // 60000:02d}:{t // 1000 % 60:02d}.{t % 1000:03d}', S(r), '']
    return '\n'.join(out)

@kind('Subtitles please, with the pauses')
def srt_sounds(r):
    return '\n'.join(f'{i}\n00:{i // 20:02d}:{i * 3 % 60:02d},000 --> 00:{i // 20:02d}:{i * 3 % 60 + 2:02d},500\n{r.choice(["[music]", "(door closes)", "♪", S(r), S(r), S(r)])}\n' for i in range(1, 61))

@kind('Show some games as PGN')
def pgn_games(r):
    out = []
    for g in range(8):
        moves = ' '.join(f'{i}. {r.choice("NBRQK")}{r.choice("abcdefgh")}{r.randint(1, 8)} {r.choice(["", "N", "B", "R", "Q"])}{r.choice("abcdefgh")}{r.randint(1, 8)}{r.choice(["", "+"])}' for i in range(1, r.randint(20, 45)))
        out.append(f'[Event "{r.choice(CITY)} Open"]\n[Site "?"]\n[Date "20{r.randint(10, 25)}.??.??"]\n[Round "{g + 1}"]\n[White "{r.choice(LAST)}, {r.choice(FIRST)}"]\n[Black "{r.choice(LAST)}, {r.choice(FIRST)}"]\n[Result "1-0"]\n\n{moves} 1-0')
    return '\n\n'.join(out)

@kind()
def fen(r):
    return '\n'.join('/'.join(''.join(r.choice('rnbqkpRNBQKP1') for _ in range(8)) for _ in range(8)) + f' w KQkq - 0 {i}' for i in range(1, 40))

@kind('List recipes for the week')
def recipes(r):
    return '\n\n'.join(f'## {a.title()} {n} soup\nServes {r.randint(2, 8)}. Time: {r.randint(10, 90)} minutes.\n\n' + '\n'.join(f'- {r.randint(1, 9) * 50} g {x}' for x in some(r, ['carrots', 'leeks', 'beans', 'barley', 'rice', 'butter', 'onions', 'celery', 'peas', 'lentils', 'cream', 'ham', 'kale', 'squash'], 4, 6)) + f'\n\n1. Chop the {r.choice(ADJ)} {r.choice(NOUN)} and fry it.\n2. {S(r)}\n3. Simmer for {r.randint(5, 60)} minutes and serve with bread.' for a, n in zip(some(r, ADJ, 12, 12), some(r, NOUN, 12, 12)))

@kind('Minutes of the four meetings')
def minutes_long(r):
    return '\n\n'.join(f'### Meeting of {d} March\nPresent: {", ".join(some(r, FIRST, 4, 7))}. Apologies: {r.choice(FIRST)}.\n\n' + '\n'.join(f'{i}. {r.choice(FIRST)} reported that {S(r)[0].lower() + S(r)[1:]} Action: {r.choice(FIRST)} by {r.randint(1, 28)} April.' for i in range(1, 8)) for d in (3, 10, 17, 24))

@kind()
def agenda(r):
    return '\n'.join(f'{h:02d}:{m:02d}–{h:02d}:{m + 25:02d}  {r.choice(FIRST)} {r.choice(LAST)}: {S(r)}' for h in range(8, 20) for m in (0, 30))

@kind('Write haiku')
def haikus(r):
    return '\n\n'.join(f'{r.choice(ADJ)} {r.choice(NOUN)}\nthe {r.choice(ADJ)} {r.choice(NOUN)} {r.choice(VERB)}\n{r.choice(NOUN)} of {r.choice(CITY)}' for _ in range(26))

@kind()
def limericks(r):
    return '\n\n'.join(f'There once was a {r.choice(ADJ)} {n} from {c},\nWho {r.choice(VERB)} a {r.choice(NOUN)} in pity;\nThe {r.choice(NOUN)} said: "No,\nI {r.choice(ADJ)}ly must go,"\nAnd that was the end of the ditty.' for n, c in zip(some(r, NOUN, 9, 9), some(r, CITY, 9, 9)))

@kind()
def unittest_methods(r):
    return '\n\n'.join(f'    def test_{v}_{n}(self) -> None:\n        """{S(r)}"""\n        {n} = self.make({r.choice(FIELD)}={r.randint(1, 99)})\n        self.assertEqual({n}.{v}(), {r.randint(1, 999)})\n        self.assertFalse({n}.{r.choice(FIELD)})' for v, n in zip([r.choice(DEED) for _ in range(26)], some(r, NOUN, 26, 26)))

@kind()
def rspec(r):
    return '\n'.join(f'  it "{v} the {a} {n}" do\n    {n} = create(:{n}, {r.choice(FIELD)}: {r.randint(1, 99)})\n    expect {{ {n}.{v} }}.to change {{ {n}.reload.{r.choice(FIELD)} }}.by({r.randint(1, 9)})\n  end\n' for v, a, n in zip([r.choice(DEED) for _ in range(26)], [r.choice(ADJ) for _ in range(26)], some(r, NOUN, 26, 26)))

@kind()
def gherkin(r):
    return '\n\n'.join(f'  Scenario: The {a} {n} {v} a file\n    Given I am logged in as "{r.choice(FIRST)}"\n    And there is a {a} {n} in {r.choice(CITY)}\n    When I open the {r.choice(NOUN)}\n    Then I should see "{S(r)}"\n    And the response status should be {r.choice([200, 201, 204, 404, 409])}' for a, n, v in zip([r.choice(ADJ) for _ in range(18)], some(r, NOUN, 18, 18), [r.choice(DEED) for _ in range(18)]))

@kind()
def changelog(r):
    return '\n\n'.join(f'## {9 - i}.{r.randint(0, 9)}.{r.randint(0, 9)} (20{26 - i}-0{r.randint(1, 9)}-1{r.randint(0, 9)})\n\n### Fixed\n' + '\n'.join(f'* **{r.choice(NOUN)}:** {S(r)} ([{hx(r, 7)}](https://example.com/commit/{hx(r, 7)}))' for _ in range(6)) + '\n\n### Dependencies\n' + '\n'.join(f'* bump {r.choice(NOUN)} from {r.randint(1, 9)}.{r.randint(0, 9)} to {r.randint(1, 9)}.{r.randint(10, 19)}' for _ in range(5)) for i in range(6))

@kind()
def diff_renames(r):
    return '\n'.join(f'diff --git a/src/{n}/{f}.py b/lib/{n}/{f}.py\nsimilarity index 100%\nrename from src/{n}/{f}.py\nrename to lib/{n}/{f}.py' for n, f in zip(some(r, NOUN, 30, 30), some(r, FIELD, 30, 30)))

@kind('Look at the log and say what went wrong', 'tr')
def log_analysis(r):
    return '\n\n'.join(f'**{h:02d}:{m:02d}** The worker on {r.choice(CITY)} logged "{S(r)}" {r.randint(2, 40)} times. That is the {r.choice(ADJ)} queue filling up; {r.choice(FIRST)}\'s change from {r.choice(CITY)} had not been rolled out yet.' for h, m in sorted((r.randint(0, 23), r.randint(0, 59)) for _ in range(20)))

@kind()
def stack_traces(r):
    return '\n\n'.join(f'Exception in thread "{n}-{r.randint(1, 9)}" java.lang.{r.choice(["IllegalStateException", "NullPointerException", "TimeoutException"])}: {S(r)}\n' + '\n'.join(f'\tat com.example.{p}.{camel(p)}{r.choice(["Service", "Worker", "Handler"])}.{v}({camel(p)}.java:{r.randint(10, 900)})' for p, v in zip(some(r, NOUN, 7, 7), some(r, DEED, 7, 7))) for n in some(r, NOUN, 8, 8))

@kind('Prove it by cases', 'tr')
def proof_cases(r):
    return '\n\n'.join(f'**Case {i}: n ≡ {i} (mod 12).** Write n = 12k + {i}. Then n² = 144k² + {24 * i}k + {i * i}, so n² ≡ {i * i % 12} (mod 12), and n² + n ≡ {(i * i + i) % 12} (mod 12). Hence the claim holds in this case.' for i in range(12))

@kind('Prove the sum formula step by step', 'tr')
def proof_steps(r):
    return '\n'.join(f'Step {i}. Assume P({i}): 1 + 2 + … + {i} = {i * (i + 1) // 2}. Adding {i + 1} on both sides gives {i * (i + 1) // 2} + {i + 1} = {(i + 1) * (i + 2) // 2}, which is P({i + 1}).' for i in range(1, 24))

@kind('', 'tr')
def think_seats(r):
    people = some(r, FIRST, 5, 5)
    out = []
    for i, p in enumerate(people):
        for j, q in enumerate(people):
            if p != q:
                out.append(f'Suppose {p} sits in seat {i + 1} and {q} in seat {(i + j) % 5 + 1}. ' + r.choice([f'Then {r.choice(people)} would have to be next to {p}, which clue {r.randint(1, 9)} forbids.', f'That leaves seats {r.randint(1, 5)} and {r.randint(1, 5)} free, and clue {r.randint(1, 9)} still holds, so keep it in mind.', f'But {q} said that {S(r)[4:-1]}, so this cannot be.']))
    return '\n'.join(out)

@kind('', 'tr')
def think_factor(r):
    n = 10403
    return f'Is {n} prime? Let me try the primes in order.\n' + '\n'.join(f'{n} / {p} = {n / p:.2f}, not whole: {p} × {n // p} = {p * (n // p)}, remainder {n % p}.' for p in [3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97]) + f'\n{n} / 101 = 103. So {n} = 101 × 103.'

@kind('', 'tr')
def think_houses(r):
    return '\n'.join(f'Clue {i}: the {r.choice(ADJ)} house is {r.choice(["left of", "right of", "next to"])} the one where {r.choice(FIRST)} keeps the {r.choice(NOUN)}. ' + r.choice(['So it can only be house 2 or 4.', 'We already know that house 1 is taken, so it must be in the middle.', 'This does not help yet; come back to it after the next clue.', 'Together with the first clue this leaves one place.']) for i in range(1, 26))

@kind('', 'tr')
def think_sudoku(r):
    return '\n'.join(f'Row {i % 9 + 1}, column {i * 4 % 9 + 1}: the candidates are {", ".join(map(str, sorted(r.sample(range(1, 10), r.randint(2, 4)))))}; the box rules out {r.randint(1, 9)}, so I put {r.randint(1, 9)} there.' for i in range(45))

@kind('Show Dijkstra step by step', 'tra')
def dijkstra(r):
    names = some(r, CITY, 12, 12)
    return '\n'.join(f'Visit {c} (distance {d}). Relax {c} → {r.choice(names)}: {d} + {r.randint(1, 40)} = {r.randint(50, 99)}, better than {r.choice(["∞", str(r.randint(100, 200))])}. Queue: {", ".join(some(r, names, 3, 5))}.' for c, d in zip(names + names[::-1], range(0, 240, 10)))

@kind('Trace bubble sort on my list', 'tra')
def bubble_sort(r):
    row = r.sample(range(10, 99), 8)
    out = []
    for i in range(8):
        for j in range(7 - i):
            if row[j] > row[j + 1]:
                row[j], row[j + 1] = row[j + 1], row[j]
                out.append(f'Swap {row[j + 1]} and {row[j]}: {row}')
    return '\n'.join(out)

@kind('Fill the DP table for me', 'tra')
def dp_table(r):
    words = 'kitten', 'sitting'
    rows = []
    old = list(range(8))
    for i, a in enumerate(words[0], 1):
        new = [i]
        for j, b in enumerate(words[1], 1):
            new.append(min(old[j] + 1, new[-1] + 1, old[j - 1] + (a != b)))
            rows.append(f'd[{i}][{j}]: {a} against {b}: min({old[j]} + 1, {new[-2]} + 1, {old[j - 1]} + {int(a != b)}) = {new[-1]}')
        old = new
    return '\n'.join(rows)

@kind('Multiply the matrices and show each entry', 'tra')
def matmul(r):
    A, B = ([[r.randint(0, 9) for _ in range(5)] for _ in range(5)] for _ in range(2))
    return '\n'.join(f'c[{i}][{j}] = ' + ' + '.join(f'{A[i][k]}·{B[k][j]}' for k in range(5)) + f' = {sum(A[i][k] * B[k][j] for k in range(5))}' for i in range(5) for j in range(5))

@kind('Explain the state machine', 'tra')
def fsm_rows(r):
    states = some(r, NOUN, 9, 9)
    return '\n'.join(f'- In state `{a}`, on `{e}`: go to `{r.choice(states)}` and {v} the {r.choice(NOUN)}.' for a in states for e, v in zip(some(r, DEED, 4, 4), some(r, VERB, 4, 4)))

@kind()
def bank_csv(r):
    b = 100000
    out = ['date,text,amount,balance']
    for i in range(70):
        a = r.randint(-9000, 9000)
        b += a
        out.append(f'2026-{i // 28 + 1:02d}-{i % 28 + 1:02d},"{r.choice(["Card", "Transfer", "Direct debit"])} {r.choice(LAST)} {r.choice(NOUN)}",{a / 100:.2f},{b / 100:.2f}')
    return '\n'.join(out)

@kind('Make the timesheet of March')
def timesheet(r):
    return '| Day | From | To | Hours | Task |\n|---|---|---|---|---|\n' + '\n'.join(f'| {d} March | {r.randint(7, 9)}:{r.choice(["00", "15", "30"])} | {r.randint(15, 18)}:{r.choice(["00", "30", "45"])} | {r.uniform(6, 9):.2f} | {r.choice(ADJ)} {r.choice(NOUN)} |' for d in range(1, 32))

@kind()
def policy(r):
    return '\n\n'.join(f'{i}. {n.title()}. The Provider shall not be liable for any {a} {n} of the Customer, except where {S(r)[0].lower() + S(r)[1:-1]}. The Customer shall notify the Provider within {r.randint(2, 60)} days of any such {r.choice(NOUN)}.' for i, (n, a) in enumerate(zip(some(r, NOUN, 24, 24), [r.choice(ADJ) for _ in range(24)]), 1))

@kind('Write an FAQ')
def faq(r):
    return '\n\n'.join(f'**Q: How do I {v[:-1]} my {n}?**\n\nA: Open the {r.choice(NOUN)} in the {r.choice(ADJ)} menu and choose "{v.title()} {n}". {S(r)}' for v, n in zip([r.choice(DEED) for _ in range(20)], some(r, NOUN, 20, 20)))

@kind('A quiz with four choices each')
def mcq(r):
    return '\n\n'.join(f'{i}. Which {r.choice(NOUN)} {r.choice(VERB)} the {a} {n}?\nA) {S(r)}\nB) The {r.choice(NOUN)}\nC) {r.choice(CITY)}\nD) None of the above' for i, (a, n) in enumerate(zip([r.choice(ADJ) for _ in range(24)], some(r, NOUN, 24, 24)), 1))

@kind()
def flashcards(r):
    return '\n'.join(f'Front: {a} {n}\nBack: {S(r)}\nTags: {r.choice(NOUN)}, {r.choice(CITY)}\n' for a, n in zip([r.choice(ADJ) for _ in range(30)], some(r, NOUN, 30, 30)))

@kind('A phrasebook please')
def phrasebook(r):
    return '\n'.join(f'- **{q}** – {a} *(say: {hx(r, 3)}-{hx(r, 4)})*' for q, a in zip([f'Where is the {n}?' for n in some(r, NOUN, 14, 14)] + [f'How much is the {a} {n}?' for a, n in zip(some(r, ADJ, 14, 14), some(r, NOUN, 14, 14))], [S(r) for _ in range(28)]))

@kind('Conjugate some Spanish verbs')
def conjugate(r):
    return '\n\n'.join(f'**{v}ar**\n' + '\n'.join(f'- {p} {v}{e}' for p, e in zip(('yo', 'tú', 'él', 'nosotros', 'vosotros', 'ellos'), ('o', 'as', 'a', 'amos', 'áis', 'an'))) for v in 'habl cant camin trabaj mir busc esper escuch ayud llam nad viaj compr lav gan'.split())

@kind('Write down the interview')
def interview(r):
    a, b = some(r, FIRST, 2, 2)
    return '\n\n'.join(f'**{a}:** {S(r)[:-1]}, is that right?\n\n**{b}:** {r.choice(["Yes.", "No.", "Well.", "I would say so."])} {S(r)} {S(r)}' for _ in range(18))

@kind()
def play(r):
    who = [n.upper() for n in some(r, FIRST, 4, 4)]
    return '\n\n'.join(f'{r.choice(who)}. ({r.choice(["aside", "laughing", "to the window", "sits down"])}) {S(r)}' for _ in range(45))

@kind('', 'ta')
def chat_log(r):
    who = [n.lower() for n in some(r, FIRST, 5, 5)]
    return '\n'.join(f'[{9 + i // 30:02d}:{i * 2 % 60:02d}] <{r.choice(who)}> {r.choice(["ok", "lol", "+1", "yes", "no", "?", S(r), S(r)])}' for i in range(90))

@kind('Answer the tickets')
def support_mails(r):
    return '\n\n---\n\n'.join(f'Hi {f},\n\nThank you for contacting us about your {a} {n}. {S(r)} {S(r)}\n\nPlease let us know if there is anything else we can help you with.\n\nKind regards,\n{r.choice(FIRST)} from the {r.choice(CITY)} team' for f, a, n in zip(some(r, FIRST, 10, 10), some(r, ADJ, 10, 10), some(r, NOUN, 10, 10)))

@kind('Plan my trip')
def itinerary(r):
    return '\n\n'.join(f'**Day {i}: {c}**\n- Morning: {S(r)}\n- Afternoon: visit the {r.choice(ADJ)} {r.choice(NOUN)} of {c}.\n- Evening: dinner near the {r.choice(NOUN)}, about {r.randint(10, 60)} euros.' for i, c in enumerate(some(r, CITY, 14, 14), 1))

@kind('Make a training plan for four weeks')
def training(r):
    return '\n\n'.join(f'### Week {w}\n' + '\n'.join(f'- {d}: {r.choice(["Rest", "Easy run", "Intervals", "Long run", "Swim", "Strength"])}, {r.randint(2, 24)} km, heart rate below {r.randint(130, 170)}' for d in ('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday')) for w in range(1, 5))

@kind('Horoscopes for all signs')
def horoscope(r):
    return '\n\n'.join(f'**{s}**: {S(r)} {S(r)} Lucky number: {r.randint(1, 99)}. Lucky colour: {r.choice(ADJ)} {r.choice(["red", "blue", "green", "gold"])}.' for s in 'Aries Taurus Gemini Cancer Leo Virgo Libra Scorpio Sagittarius Capricorn Aquarius Pisces'.split())

@kind('All results of the league')
def results(r):
    return '\n'.join(f'{a} {r.randint(0, 5)}–{r.randint(0, 5)} {b} ({r.choice(LAST)} {r.randint(1, 90)}\')' for a in CITY[:9] for b in CITY[:9] if a != b)

@kind()
def census(r):
    return 'city;district;year;population;households;median_age\n' + '\n'.join(f'{c};{a} {n};{y};{r.randint(900, 99999)};{r.randint(300, 40000)};{r.uniform(25, 55):.1f}' for c, a, n in zip(some(r, CITY, 22, 22), some(r, ADJ, 22, 22), some(r, NOUN, 22, 22)) for y in (2001, 2011, 2021))

@kind()
def kml(r):
    return ''.join(f'  <Placemark>\n    <name>{a.title()} {n}</name>\n    <description>{S(r)}</description>\n    <Point><coordinates>{r.uniform(-180, 180):.5f},{r.uniform(-80, 80):.5f},0</coordinates></Point>\n  </Placemark>\n' for a, n in zip([r.choice(ADJ) for _ in range(24)], some(r, NOUN, 24, 24)))

@kind()
def gpx(r):
    return '<trkseg>\n' + ''.join(f'  <trkpt lat="{48 + i / 3000 + r.random() / 9999:.6f}" lon="{11 + i / 2000 + r.random() / 9999:.6f}"><ele>{500 + r.randint(0, 40)}.{r.randint(0, 9)}</ele><time>2026-11-30T09:{i // 6 % 60:02d}:{i * 10 % 60:02d}Z</time></trkpt>\n' for i in range(60)) + '</trkseg>'

@kind()
def dockerfile(r):
    return '\n'.join(f'FROM {n}:{r.randint(1, 9)}-slim AS {a}\nWORKDIR /srv/{n}\nCOPY {n}/package.json ./\nRUN npm ci --omit=dev && npm run {r.choice(DEED)}\nEXPOSE {r.randint(1000, 9999)}\nCMD ["node", "{r.choice(NOUN)}.js"]\n' for n, a in zip(some(r, NOUN, 18, 18), some(r, ADJ, 18, 18)))

@kind()
def makefile(r):
    return '\n'.join(f'.PHONY: {v}-{n}\n{v}-{n}: ## {S(r)}\n\t@echo "{v} {n}"\n\t$(GO) run ./cmd/{n} --{r.choice(FIELD)} $({n.upper()})\n' for v, n in zip([r.choice(DEED) for _ in range(25)], some(r, NOUN, 25, 25)))

@kind()
def cmake(r):
    return '\n'.join(f'add_library({n}_{a} STATIC src/{n}/{a}.cpp src/{n}/{r.choice(FIELD)}.cpp)\ntarget_include_directories({n}_{a} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}}/include)\ntarget_link_libraries({n}_{a} PRIVATE {r.choice(NOUN)} {r.choice(NOUN)})' for n, a in zip(some(r, NOUN, 22, 22), some(r, ADJ, 22, 22)))

@kind('', 'a')
def scope_names(r):
    return f'{{"name": "punctuation {r.choice(NOUN)}", "scope": "' + ' '.join(['meta.structure.dictionary.json', 'meta.structure.dictionary.value.json'] * 8) + ' punctuation.separator"}'

@kind()
def lockfile(r):
    return '\n\n'.join(f'[[package]]\nname = "{n}-{a}"\nversion = "{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{hx(r, 64)}"\ndependencies = [\n "{r.choice(NOUN)}",\n "{r.choice(NOUN)}-{r.choice(ADJ)}",\n]' for n, a in zip(some(r, NOUN, 22, 22), some(r, ADJ, 22, 22)))

@kind()
def eslint(r):
    return json.dumps({'rules': {f'{r.choice(["no", "prefer", "require", "max"])}-{a}-{n}': [r.choice(['error', 'warn', 'off']), {'allow': some(r, NOUN, 1, 3)}] for a, n in zip([r.choice(ADJ) for _ in range(36)], some(r, NOUN, 36, 36))}}, indent=2)

@kind()
def feature_flags(r):
    return ''.join(f'{n}_{v}:\n  description: {S(r)}\n  owner: {r.choice(FIRST).lower()}@example.com\n  default: {r.choice(["on", "off"])}\n  rollout: {r.randint(0, 100)}\n' for n, v in zip(some(r, NOUN, 28, 28), [r.choice(DEED) for _ in range(28)]))

@kind()
def env_file(r):
    return '\n'.join(f'{n.upper()}_{f.upper()}={r.choice([hx(r, 16), str(r.randint(1, 9999)), "true", "false", "https://" + r.choice(NOUN) + ".example.com"])}' for n, f in zip(some(r, NOUN, 60, 60), some(r, FIELD, 60, 60)))

@kind()
def dns_zone(r):
    return '\n'.join(f'{n:<14} {r.choice([300, 3600, 86400])} IN {r.choice(["A", "A", "A", "AAAA", "CNAME", "TXT"])} {ip(r)}' for n in some(r, NOUN, 60, 60))

@kind()
def dhcp_hosts(r):
    return '\n'.join(f'host {n} {{\n  hardware ethernet {":".join(hx(r, 2) for _ in range(6))};\n  fixed-address 10.0.{i}.{r.randint(2, 250)};\n}}' for i, n in enumerate(some(r, NOUN, 40, 40)))

@kind()
def alert_rules(r):
    return 'rules:\n' + ''.join(f'  - alert: {a.title()}{n.title()}\n    expr: rate({n}_{f}_total[{r.randint(1, 30)}m]) > {r.randint(1, 99)}\n    for: {r.randint(1, 30)}m\n    labels: {{severity: {r.choice(["page", "ticket"])}}}\n    annotations:\n      summary: {S(r)}\n' for a, n, f in zip([r.choice(ADJ) for _ in range(22)], some(r, NOUN, 22, 22), some(r, FIELD, 22, 22)))

@kind()
def grafana(r):
    return json.dumps({'panels': [{'id': i, 'type': r.choice(['graph', 'stat', 'table']), 'title': f'{r.choice(ADJ)} {n}', 'gridPos': {'h': 8, 'w': 12, 'x': i % 2 * 12, 'y': i // 2 * 8}, 'targets': [{'expr': f'sum(rate({n}_{r.choice(FIELD)}[5m])) by (instance)', 'refId': 'A'}]} for i, n in enumerate(some(r, NOUN, 18, 18))]}, indent=1)

@kind()
def plantuml(r):
    who = [n.title() for n in some(r, NOUN, 6, 6)]
    return '@startuml\n' + '\n'.join(f'{r.choice(who)} -> {r.choice(who)}: {r.choice(DEED)} {r.choice(ADJ)} {r.choice(NOUN)}' for _ in range(60)) + '\n@enduml'

@kind()
def graphviz(r):
    return 'digraph g {\n' + ''.join(f'  {a}_{n} [label="{a} {n}", shape={r.choice(["box", "oval"])}];\n  {a}_{n} -> {r.choice(ADJ)}_{r.choice(NOUN)} [weight={r.randint(1, 9)}];\n' for a, n in zip([r.choice(ADJ) for _ in range(40)], some(r, NOUN, 40, 40))) + '}'

@kind('Make a map of the level', 'ta')
def tilemap(r):
    return 'const LEVEL = [\n' + ''.join('  "' + ''.join(r.choice('....,~#TT^') for _ in range(40)) + '",\n' for _ in range(30)) + '];'

@kind()
def sprites(r):
    return json.dumps({f'{n}_{v}_{i}.png': {'frame': {'x': r.randint(0, 40) * 16, 'y': r.randint(0, 40) * 16, 'w': 16, 'h': 16}, 'rotated': False, 'trimmed': False} for n, v in zip(some(r, NOUN, 14, 14), some(r, DEED, 14, 14)) for i in range(3)}, indent=1)

@kind('Fill the column with formulas', 'ta')
def spreadsheet(r):
    return '\n'.join(f'B{i}\t=IF(A{i}="","",VLOOKUP(A{i},Prices!$A$2:$C${r.randint(100, 999)},{r.randint(2, 5)},FALSE)*C{i})\t{r.choice(NOUN)}' for i in range(2, 62))

@kind()
def pandas_steps(r):
    return '\n'.join(f'df["{a}_{f}"] = df["{f}"].{r.choice(["fillna(0)", "astype(int)", "str.strip()", "shift(1)", "cumsum()", "rank()"])}  # {S(r)}' for a, f in zip([r.choice(ADJ) for _ in range(36)], some(r, FIELD, 36, 36)))

@kind()
def bash_steps(r):
    return '\n\n'.join(f'# {S(r)}\nif [ ! -f "/var/lib/{n}/{f}" ]; then\n  echo "missing {n} {f}" >&2\n  exit {r.randint(1, 99)}\nfi\ncp -a "/var/lib/{n}/{f}" "$BACKUP/{n}-{r.choice(ADJ)}"' for n, f in zip(some(r, NOUN, 18, 18), some(r, FIELD, 18, 18)))

@kind()
def powershell(r):
    return '\n'.join(f'New-ADUser -Name "{f} {l}" -SamAccountName "{f.lower()}.{l.lower()}" -Department "{r.choice(NOUN).title()}" -Office "{r.choice(CITY)}" -Enabled $true' for f, l in zip(some(r, FIRST, 30, 30), some(r, LAST, 30, 30)))

@kind()
def vba(r):
    return '\n'.join(f'    ws.Range("{r.choice("ABCDEFGH")}{i}").Value = "{a.title()} {n}"\n    ws.Range("{r.choice("ABCDEFGH")}{i}").Font.Bold = {r.choice(["True", "False"])}' for i, (a, n) in enumerate(zip([r.choice(ADJ) for _ in range(40)], some(r, NOUN, 40, 40)), 2))

@kind('List the endpoints that you found', 'tr')
def endpoints(r):
    return '\n'.join(f'- `{r.choice(["GET", "POST", "PUT", "DELETE"])} /api/v1/{t}/{{id}}/{v}`: {S(r)}' for t in some(r, TABLE, 14, 14) for v in some(r, DEED, 3, 3))

@kind('', 'tr')
def think_files_more(r):
    return '\n'.join(f'Let me look at src/{n}/{f}.ts next. It exports {camel(n)}{camel(f)}, which is imported by {r.choice(NOUN)}.ts; {r.choice(["nothing to change here.", "the type must be widened.", "a test is missing.", "it still uses the old " + r.choice(NOUN) + "."])}' for n, f in zip(some(r, NOUN, 30, 30), some(r, FIELD, 30, 30)))

@kind('', 'tr')
def think_hypotheses(r):
    return '\n\n'.join(f'Hypothesis {i}: the {a} {n} is the cause. If so, {S(r)[0].lower() + S(r)[1:]} But the log says otherwise, because {S(r)[0].lower() + S(r)[1:]} Likelihood: {r.randint(1, 90)} %.' for i, (a, n) in enumerate(zip([r.choice(ADJ) for _ in range(18)], some(r, NOUN, 18, 18)), 1))

@kind('', 'tr')
def think_tests_run(r):
    return '\n'.join(f'tests/{n}/test_{f}.py: {r.randint(2, 40)} passed, {r.choice([0, 0, 0, 1])} failed in {r.uniform(0.1, 9):.2f}s. ' + r.choice(['Good.', 'Fine, next.', 'As expected.', S(r)]) for n, f in zip(some(r, NOUN, 45, 45), some(r, FIELD, 45, 45)))

@kind('', 'tr')
def think_units(r):
    return '\n'.join(f'{v} {u} = {v} × {k} {w} = {v * k} {w}.' for v, (u, k, w) in zip(r.sample(range(2, 99), 40), [('km', 1000, 'm'), ('h', 3600, 's'), ('kg', 1000, 'g'), ('ft', 12, 'in'), ('day', 24, 'h'), ('MiB', 1024, 'KiB'), ('week', 7, 'days'), ('lb', 16, 'oz')] * 5))

@kind('Translate the lines one by one')
def bilingual(r):
    return '\n\n'.join(f'> {d}\n\n{S(r)}' for d in DE.split('|'))

@kind('Explain each line of my function', 'tr')
def line_by_line(r):
    return '\n'.join(f'- Line {i}: `{n}.{v}({f})` {v} the {a} {n}. {S(r)}' for i, (n, v, f, a) in enumerate(zip(some(r, NOUN, 24, 24), [r.choice(DEED) for _ in range(24)], some(r, FIELD, 24, 24), [r.choice(ADJ) for _ in range(24)]), 1))

@kind('Compare the two plans', 'tr')
def scenarios(r):
    names = [f'Plan {c}' for c in 'ABCD']
    days = [r.randint(10, 40) for _ in names]
    steps = ('1. Find the longest chain of tasks. It is the chain that decides how long all of it takes.\n2. Divide the work that is done by the work that is planned, for each plan.\n3. Do the same for each task on that chain, and multiply by 100 to get a percentage.\n4. Take the mean of these percentages. That is the progress of the whole.\n')
    lists = '\n'.join(f'- {n}: {d} days, {r.randint(10, 90)} % done' for n, d in zip(names, days))
    return f'**Scenario 1**\n{lists}\n\nThe method has these steps:\n{steps}\nThe chain takes {sum(days[:3])} days; the plans stand at {r.randint(10, 99)} %, {r.randint(10, 99)} % and {r.randint(10, 99)} %.\n\n**Scenario 2**\n{lists}\n\nThere are no dependencies now. The method has these steps:\n{steps}\nNow the chain takes {max(days)} days, and the mean is {r.randint(10, 99)} %.'

@kind('Write the dialogue of the card trick', 'tr')
def count_twice(r):
    tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split()
    ones = 'one two three four five six seven eight nine'.split()
    row = ones + 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split() + [w for t in tens for w in [t, *(f'{t}-{o}' for o in ones)]]
    counted = ', '.join(row[:52])
    return f'"{S(r)}" The guest deals the cards and counts aloud: "{counted}."\n\n"{S(r)} Do it once more, please."\n\nShe gathers them and counts again: "{counted}."\n\n"{S(r)}"'

@kind('Patch the hosts one by one', 'tra')
def per_host(r):
    return '\n\n'.join(f'### {n}.{c.lower()}.example.com\n1. Drain the node: `kubectl drain {n} --ignore-daemonsets`\n2. Upgrade to {r.randint(1, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)} and reboot.\n3. Uncordon it: `kubectl uncordon {n}`\n4. Check that {S(r)[0].lower() + S(r)[1:]}' for n, c in zip(some(r, NOUN, 14, 14), some(r, CITY, 14, 14)))

@kind('Make steps for the models of my app', 'tr')
def artisan_steps(r):
    return '\n'.join(f'{4 * i + 1}. Create the model `{camel(t)}` with `php artisan make:model {camel(t)}`.\n{4 * i + 2}. Create its migration with `php artisan make:migration create_{t}_table`.\n{4 * i + 3}. In `up`, add the columns {", ".join(f"`{f}`" for f in some(r, FIELD, 3, 5))}.\n{4 * i + 4}. Run `php artisan migrate`.' for i, t in enumerate(some(r, TABLE, 12, 12)))

@kind('Write the review of each candidate', 'tr')
def verdict_rows(r):
    return '\n'.join(f'{i}. {f} {l}: {r.choice(["strong hire", "hire", "no hire"])}. {S(r)} {r.choice(["Would work with again.", "Needs more practice.", "Communicates well."])}' for i, (f, l) in enumerate(zip(some(r, FIRST, 26, 26), some(r, LAST, 26, 26)), 1))

@kind()
def licences_npm(r):
    return '\n'.join(f'├─ {n}-{a}@{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}\n│  ├─ licenses: {r.choice(["MIT", "ISC", "Apache-2.0", "BSD-3-Clause"])}\n│  ├─ repository: https://github.com/{r.choice(LAST).lower()}/{n}\n│  └─ publisher: {r.choice(FIRST)} {r.choice(LAST)}' for n, a in zip(some(r, NOUN, 26, 26), some(r, ADJ, 26, 26)))

@kind()
def glossary_long(r):
    return '\n'.join(f'**{a.title()} {n}** – {S(r)} See also *{r.choice(ADJ)} {r.choice(NOUN)}*.' for a, n in sorted(zip([r.choice(ADJ) for _ in range(30)], some(r, NOUN, 30, 30))))

@kind('Read the poem of the day in Korean')
def poem_ko(r):
    said = '아침 시장에 생선 냄새가 번진다|할머니는 마루에 고추를 널고|골목 끝에서 자전거가 넘어진다|아이는 울지 않고 먼저 웃는다|빨래가 바람에 소매를 흔들고|라디오는 먼 도시의 비를 말한다|아버지의 구두에 흙이 말라 있다|저녁이 오면 창마다 불이 켜지고|찌개 끓는 소리가 벽을 넘는다|고양이는 지붕에서 달을 센다|편지는 아직 서랍 속에 있다|내일은 기차를 타고 바다로 간다'.split('|')
    return '\n'.join(said[:6]) + '\n\n' + '\n'.join(said[6:])
