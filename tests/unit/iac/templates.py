"""The cluster of the plans as a CloudFormation template."""

NETWORK = """\
AWSTemplateFormatVersion: 2010-09-09
Parameters:
  Block:
    Type: String
    Default: 10.20.0.0/16
  Last:
    Type: String
    Default: "29500"
Mappings:
  Zones:
    us-east-1: {a: us-east-1a, b: us-east-1b}
Conditions:
  Wide: !Not [!Equals [!Ref Last, "29500"]]
Resources:
  Vpc:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: !Ref Block}
  SubnetA:
    Type: AWS::EC2::Subnet
    Properties:
      VpcId: !Ref Vpc
      CidrBlock: 10.20.1.0/24
      AvailabilityZone: !FindInMap [Zones, us-east-1, a]
  SubnetB:
    Type: AWS::EC2::Subnet
    Properties:
      VpcId: !Ref Vpc
      CidrBlock: 10.20.2.0/24
      AvailabilityZone: !FindInMap [Zones, us-east-1, b]
  Train:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: !Sub training in ${Vpc}
      VpcId: !Ref Vpc
      SecurityGroupEgress: [{IpProtocol: "-1", CidrIp: 0.0.0.0/0}]
  TrainItself:
    Type: AWS::EC2::SecurityGroupIngress
    Properties:
      GroupId: !GetAtt Train.GroupId
      IpProtocol: tcp
      FromPort: !If [Wide, 1024, 29500]
      ToPort: !Ref Last
      SourceSecurityGroupId: !GetAtt Train.GroupId
"""
NODE = """\
  Node{number}:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: ami-12c6146b
      SubnetId: !Ref Subnet{subnet}
      SecurityGroupIds: [!GetAtt Train.GroupId]
      {address}
      Tags:
        - {{Key: Name, Value: !Join [-, [train, "{number}"]]}}
        - {{Key: cluster, Value: train}}
"""
ACL = """\
  Acl:
    Type: AWS::EC2::NetworkAcl
    Properties: {VpcId: !Ref Vpc}
  AclOfB:
    Type: AWS::EC2::SubnetNetworkAclAssociation
    Properties: {SubnetId: !Ref SubnetB, NetworkAclId: !Ref Acl}
"""
ENTRY = """\
  Entry{index}:
    Type: AWS::EC2::NetworkAclEntry
    Properties:
      NetworkAclId: !Ref Acl
      RuleNumber: {number}
      Protocol: 6
      RuleAction: allow
      Egress: {egress}
      CidrBlock: {block}
      PortRange: {{From: {low}, To: {high}}}
"""
ROWS = (
    (100, "false", "!Ref Block", 0, 65535),
    (100, "true", "0.0.0.0/0", 443, 443),
    (110, "true", "!GetAtt Vpc.CidrBlock", 0, 32767),
)


def cluster(*, known: bool = True, guarded: bool = True) -> str:
    parts = [NETWORK]
    for number in range(4):
        address = f"PrivateIpAddress: 10.20.{number // 2 + 1}.{11 + number}" if known else "Monitoring: false"
        parts.append(NODE.format(number=number, subnet="AB"[number // 2], address=address))
    if guarded:
        parts.append(ACL)
        for index, (number, egress, block, low, high) in enumerate(ROWS):
            parts.append(ENTRY.format(index=index, number=number, egress=egress, block=block, low=low, high=high))
    return "".join(parts)
