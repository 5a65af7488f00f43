// The HTML page: Chart.js and the data are inside the file, so it opens offline and can be mailed.
#include <fmt/format.h>

#include "host/report/report.h"

// Chart.js as Debian packages it (libjs-chart.js), put into the program at build time.
asm(".section .rodata\n"
    ".global sec_chart_js\nsec_chart_js:\n.incbin \"" SEC_CHART_JS "\"\n"
    ".global sec_chart_js_end\nsec_chart_js_end:\n.byte 0\n.previous\n");
extern "C" const char sec_chart_js[];
extern "C" const char sec_chart_js_end[];

namespace sec::host {
namespace {
const char kStyle[] = R"(
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1180px;padding:1.2em;color:#1c2733;background:#fff}
h1{font-size:1.5em;margin:.2em 0}h2{margin-top:1.8em;border-bottom:2px solid #d6dee6;padding-bottom:.2em}
table{border-collapse:collapse;font-size:.86em;margin:.8em 0;width:100%}th,td{padding:.25em .5em;text-align:right;border-bottom:1px solid #e6ebf0}
th{background:#f3f6f9;position:sticky;top:0}td:first-child,th:first-child,td.l,th.l{text-align:left}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:1.2em}.chart{position:relative;height:330px}
.note{color:#51606f;font-size:.9em}.sim{background:#eef6ff}.wall{background:#fff6e8}.key span{padding:.1em .5em;border-radius:3px;margin-right:.6em}
dl.prov{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;font-size:.85em}dl.prov dt{color:#51606f}dl.prov dd{margin:0;overflow-wrap:anywhere}
)";
const char kScript[] = R"(
const doc=JSON.parse(document.getElementById('data').textContent);const main=document.getElementById('main');
const el=(t,a={},...c)=>{const e=document.createElement(t);for(const k in a)k==='class'?e.className=a[k]:e.setAttribute(k,a[k]);for(const x of c)e.append(x);return e};
const get=(o,...k)=>k.reduce((a,b)=>a==null?undefined:a[b],o);
const fmt=(v,d=1)=>v==null||v<0||Number.isNaN(v)?'–':v>=1000?Math.round(v).toLocaleString('en'):v.toFixed(d);
const pct=v=>v==null?'–':Math.round(v*100)+' %';
const colors={engine:'#0b6bcb',cpu_profile:'#c2410c',cpu_single:'#6b7280',cpu_multi:'#16a34a'};
const names={engine:'engine offload (simulated)',cpu_profile:'profile CPU alone (simulated)',cpu_single:'this CPU, single buffer (measured)',cpu_multi:'this CPU, multi-buffer (measured)'};
function table(head,rows){const t=el('table');t.append(el('tr',{},...head.map(h=>el('th',{class:h[1]||''},h[0]))));
 for(const r of rows)t.append(el('tr',{},...r.map((c,i)=>el('td',{class:(head[i][1]||'')},c==null?'–':String(c)))));return t}
function lines(box,title,labels,sets,y,log){const d=el('div',{class:'chart'});const c=el('canvas');d.append(c);box.append(d);
 const v2=Chart.version&&Chart.version.startsWith('2');
 const data={labels,datasets:sets.map(s=>({label:s.label,data:s.data,borderColor:s.color,backgroundColor:s.fill||s.color,fill:!!s.fill,lineTension:0,tension:0,pointRadius:3,borderDash:s.dash||[]}))};
 const opt=v2?{maintainAspectRatio:false,animation:{duration:0},title:{display:true,text:title},scales:{yAxes:[{type:log?'logarithmic':'linear',scaleLabel:{display:true,labelString:y},ticks:log?{callback:x=>/^[125]0*$/.test(String(x))?x:''}:{beginAtZero:true}}],xAxes:[{scaleLabel:{display:true,labelString:'bytes'}}]}}
  :{maintainAspectRatio:false,animation:false,plugins:{title:{display:true,text:title}},scales:{y:{type:log?'logarithmic':'linear',title:{display:true,text:y},beginAtZero:!log},x:{title:{display:true,text:'bytes'}}}};
 new Chart(c,{type:'line',data,options:opt})}
for(const s of doc.sections){main.append(el('h2',{},s.title));
 for(const c of s.crossovers)main.append(el('p',{class:'note'},c.size==null?`Offload does not win on ${c.suite} at any size of this grid.`:`Offload wins on ${c.suite} from ${c.size} bytes on.`));
 for(const n of s.notes)main.append(el('p',{class:'note'},n));
 const box=el('div',{class:'charts'});main.append(box);
 if(s.kind!=='disk'){for(const suite of [...new Set(s.rows.map(r=>r.suite))]){const rs=s.rows.filter(r=>r.suite===suite);const L=rs.map(r=>r.label);
  const pick=(w,k)=>rs.map(r=>get(r,w,k)??null);
  lines(box,suite+': throughput',L,[['cpu_single','wall_mbit_s'],['cpu_multi','wall_mbit_s'],['cpu_profile','sim_mbit_s'],['engine','sim_mbit_s']].map(([w,k])=>({label:names[w],data:pick(w,k),color:colors[w],dash:k[0]==='w'?[5,4]:[]})),'Mbit/s',true);
  lines(box,suite+': who is busy (engine offload)',L,[['cpu','#c2410c','host CPU'],['aesu','#0b6bcb','AESU'],['deu','#7c3aed','DEU'],['bus','#16a34a','bus'],['channel','#9ca3af','busiest channel']].map(([k,c,n])=>({label:n,data:rs.map(r=>{const v=get(r,'engine','busy',k);return v==null?null:Math.round(v*1000)/10}),color:c})),'% of simulated time',false)}
  main.append(table([['suite'],['bytes'],['measured 1 buffer','wall'],['measured multi-buffer','wall'],['profile CPU','sim'],['engine Mbit/s','sim'],['host load','sim'],['p50 µs','sim'],['p99 µs','sim'],['in flight','sim'],['descriptors','sim'],['bytes through engine','sim'],['bottleneck','l']],
   s.rows.map(r=>[r.suite,r.label,fmt(get(r,'cpu_single','wall_mbit_s')),fmt(get(r,'cpu_multi','wall_mbit_s')),fmt(get(r,'cpu_profile','sim_mbit_s')),fmt(get(r,'engine','sim_mbit_s')),pct(get(r,'engine','host_load')),fmt(get(r,'engine','sim_p50_ns')/1000),fmt(get(r,'engine','sim_p99_ns')/1000),fmt(get(r,'engine','mean_in_flight'),0),get(r,'engine','descriptors'),get(r,'engine','engine_bytes'),(get(r,'engine','bottleneck')||'–')+' '+pct(get(r,'engine','bottleneck_share'))])))}
 else{const d=el('div',{class:'chart'}),c=el('canvas');d.append(c);box.append(d);const L=s.rows.map(r=>`${r.suite} ${r.size} ${r.submission}`);const v2=Chart.version&&Chart.version.startsWith('2');
  const ds=[['cpu_profile','write','sim_mb_s'],['engine','write','sim_mb_s'],['engine','read','sim_mb_s']].map(([w,p,k],i)=>({label:names[w]+', '+p,data:s.rows.map(r=>get(r,w,p,k)??null),backgroundColor:[colors.cpu_profile,colors.engine,'#7db6ee'][i]}));
  new Chart(c,{type:v2?'horizontalBar':'bar',data:{labels:L,datasets:ds},options:v2?{maintainAspectRatio:false,animation:{duration:0},title:{display:true,text:'MB/s, simulated'},scales:{xAxes:[{ticks:{beginAtZero:true}}]}}:{indexAxis:'y',maintainAspectRatio:false,animation:false,plugins:{title:{display:true,text:'MB/s, simulated'}}}});d.style.height=(70+L.length*44)+'px';
  main.append(table([['cipher'],['sector'],['request','l'],['measured 1 buffer','wall'],['measured multi-buffer','wall'],['profile write','sim'],['profile read','sim'],['engine write MB/s','sim'],['engine read MB/s','sim'],['host load','sim'],['p50 µs','sim'],['p99 µs','sim'],['descriptors','sim'],['bottleneck','l']],
   s.rows.map(r=>[r.suite,r.size,r.submission,fmt(get(r,'cpu_single','write','wall_mb_s')),fmt(get(r,'cpu_multi','write','wall_mb_s')),fmt(get(r,'cpu_profile','write','sim_mb_s')),fmt(get(r,'cpu_profile','read','sim_mb_s')),fmt(get(r,'engine','write','sim_mb_s')),fmt(get(r,'engine','read','sim_mb_s')),pct(get(r,'engine','host_load')),fmt(get(r,'engine','write','sim_p50_ns')/1000),fmt(get(r,'engine','write','sim_p99_ns')/1000),get(r,'engine','descriptors'),(get(r,'engine','bottleneck')||'–')+' '+pct(get(r,'engine','bottleneck_share'))])))}}
const dl=el('dl',{class:'prov'});for(const k in doc.provenance){dl.append(el('dt',{},k),el('dd',{},typeof doc.provenance[k]==='object'?JSON.stringify(doc.provenance[k]):String(doc.provenance[k])))}
main.append(el('h2',{},'Where these figures come from'),dl);
)";
std::string script_safe(std::string s) {
  for (size_t at = 0; (at = s.find("</", at)) != std::string::npos; at += 3) s.replace(at, 2, "<\\/");
  return s;
}
}  // namespace

std::string render_html(const nlohmann::json& d) {
  std::string o = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>secsim: what offload buys</title><style>";
  o += kStyle;
  o += "</style></head><body><h1>secsim: what offload to the SEC buys</h1><p class=\"key\"><span class=\"sim\">simulated time</span><span class=\"wall\">measured on the machine that made this page (wall time)</span>";
  o += "The two are never the same clock: compare the engine with the profile's CPU; the measured columns say what today's SIMD code does.</p><div id=\"main\"></div>";
  o += "<script id=\"data\" type=\"application/json\">" + script_safe(d.dump()) + "</script><script>";
  o.append(sec_chart_js, sec_chart_js_end);
  o += "</script><script>";
  o += kScript;
  o += "</script></body></html>\n";
  return o;
}

}  // namespace sec::host
